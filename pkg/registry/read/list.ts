import { yieldEvery } from "#base";
import { badRequest, expired, tooLargeResourceVersion } from "#meta";
import { type Entry, type Page, type Snapshot, StoreFault } from "#storage";
import { type ContinueToken, decodeContinue, encodeContinue } from "./continue-token.ts";
import type { Item, ItemList, ListOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { checkListOptions, type ListVersion, listVersion } from "./list-options.ts";
import { selectorOf } from "./selected-items.ts";
import { type Selection, selectionOf } from "./selection.ts";
import { collectionPrefix, isReadable, StoredItem, untransformable } from "../codec/stored.ts";
import { parseResourceVersion } from "../write/preconditions.ts";

/** Entries per read of the store. */
const chunk = 500;
/** Limit of entries per read for lists with a selector, whose reads grow. */
const maxChunk = 10_000;

/**
 * Lists a collection at one revision, in chunks: a list without a limit is never in memory as a whole,
 * one with a limit holds at most `limit` items. Throws 400, 410, 422 and 504 as kube-apiserver does.
 */
export async function list(
  registry: RegistryContext,
  request: ResourceRequest,
  options: ListOptions,
): Promise<ItemList> {
  const selection = selectionOf(request, options);
  checkListOptions(options, registry.catalog.domain);
  const plan = planList(registry, request, { options, selection });
  const snapshot = await snapshotOf(plan);
  if (
    selection.name !== undefined &&
    options.continueToken === "" &&
    isOneKey(request, selection)
  ) {
    return listByName(plan, snapshot, selection.name);
  }
  return plan.limit > 0 ? listPage(plan, snapshot) : listAll(plan, snapshot);
}

/** What to read from which snapshot of the store. */
interface ListPlan {
  readonly registry: RegistryContext;
  readonly request: ResourceRequest;
  readonly options: ListOptions;
  readonly selection: Selection;
  readonly prefix: string;
  /** 0 = none. */
  readonly limit: number;
  readonly version: ListVersion;
  readonly token: ContinueToken | undefined;
}

function planList(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, selection }: { readonly options: ListOptions; readonly selection: Selection },
): ListPlan {
  const namespace = selection.namespace ?? request.namespace;
  const prefix = collectionPrefix({ ...request, namespace });
  const common = { registry, request, options, selection, prefix };
  // kube-apiserver serves resourceVersion "0" from its watch cache, which ignores the limit; it has no
  // watch cache for Events.
  const any = parseResourceVersion(options.resourceVersion) === 0n;
  const cached = any && !request.resource.kind.rules.expires;
  const limit = cached ? 0 : Math.max(0, options.limit);
  if (options.continueToken === "") {
    return { limit, version: listVersion(options), token: undefined, ...common };
  }
  const token = decodeContinue(options.continueToken, registry.catalog.domain);
  if (parseResourceVersion(options.resourceVersion || "0") !== 0n) {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const version: ListVersion =
    token.revision === undefined
      ? { kind: "newest", least: 0n }
      : { kind: "exact", revision: BigInt(token.revision) };
  return { limit, version, token, ...common };
}

function isOneKey({ resource, namespace }: ResourceRequest, selection: Selection): boolean {
  return resource.kind.scope === "Cluster" || (selection.namespace ?? namespace) !== "";
}

/** The snapshot of the store that the list returns. */
async function snapshotOf(plan: ListPlan): Promise<Snapshot> {
  const { registry, version, request, options } = plan;
  const { signal } = request.context;
  const collection = registry.store.collection(request.resource.keyPrefix);
  const exact = exactRevision(version);
  if (exact !== undefined) return collection.at(exact, { signal });
  const least = version.kind === "newest" ? version.least : 0n;
  const { resourceVersion, continueToken, ownWrites = false } = options;
  const consistent = (resourceVersion === "" || continueToken !== "") && !ownWrites;
  const atLeast = consistent ? {} : { atLeast: ownWrites ? collection.written : Number(least) };
  const snapshot = await collection.newest({ signal, ...atLeast });
  if (least > BigInt(snapshot.revision)) {
    const isCached = !request.resource.kind.rules.expires;
    throw tooLargeResourceVersion(least, snapshot.revision, { isCached });
  }
  return snapshot;
}

/** Reads entries after the key `after`. */
async function readEntries(
  plan: ListPlan,
  snapshot: Snapshot,
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
): Promise<Page> {
  try {
    return await snapshot.page(plan.prefix, { limit, after, signal: plan.request.context.signal });
  } catch (fault) {
    throw fault instanceof StoreFault ? listError(plan, fault, after) : fault;
  }
}

/** The revision of `resourceVersionMatch=Exact`, at most the largest safe integer. */
function exactRevision(version: ListVersion): number | undefined {
  if (version.kind !== "exact") return undefined;
  return Number(
    version.revision < BigInt(Number.MAX_SAFE_INTEGER) ? version.revision : Number.MAX_SAFE_INTEGER,
  );
}

/** Translates compacted and future revisions into 410 and 504; a 410 has a new continue token. */
function listError(plan: ListPlan, fault: StoreFault, after: string | undefined): Error {
  const { version, token } = plan;
  if (fault.detail.kind === "future-revision" && version.kind === "exact") {
    return tooLargeResourceVersion(version.revision, fault.detail.current);
  }
  if (fault.detail.kind !== "compacted") return fault;
  if (token === undefined) {
    return expired("The resourceVersion for the provided list is too old.");
  }
  const last = after?.slice(plan.prefix.length) ?? token.after;
  const { domain } = plan.registry.catalog;
  return expired(
    "The provided continue parameter is too old to display a consistent list result. You can " +
      "start a new list without the continue parameter, or use the continue token in this " +
      "response to retrieve the remainder of the results. Continuing with the provided token " +
      "results in an inconsistent list - objects that were created, modified, or deleted " +
      "between the time the first chunk was returned and now may show up in the list.",
    encodeContinue({ revision: undefined, after: last }, domain),
  );
}

/** The key after which the continue token resumes. */
function startOf({ token, prefix }: ListPlan): string | undefined {
  return token === undefined ? undefined : prefix + token.after;
}

/** A list that can match one name only: reads one key. */
async function listByName(plan: ListPlan, snapshot: Snapshot, name: string): Promise<ItemList> {
  const { prefix, selection, registry, request } = plan;
  const key = prefix + name;
  // `key` sorts before all longer keys with this prefix, so it is the first entry if it exists.
  const { runs } = await readEntries({ ...plan, prefix: key }, snapshot, {
    limit: 1,
    after: undefined,
  });
  const found = runs.flat().filter((entry) => entry.key === key);
  const fault = found.find((entry) => !isReadable(entry));
  if (fault !== undefined) throw untransformable(registry, request.resource, fault);
  const items = found.map((entry) => StoredItem.shared(registry, request.resource, entry));
  const { revision } = snapshot;
  return { revision, next: undefined, ...delivered([items.filter(selection.matches)]) };
}

/**
 * A list with a limit: reads until `limit` objects match. Reads grow, as a selector may match few of
 * the entries.
 */
async function listPage(plan: ListPlan, snapshot: Snapshot): Promise<ItemList> {
  const { limit, registry, request, selection, prefix } = plan;
  const { revision } = snapshot;
  const select = selectorOf(registry, request.resource, selection);
  const chunks: (readonly Item[])[] = [];
  let missing = limit;
  const pause = yieldEvery();
  let step = Math.min(limit, maxChunk);
  let after = startOf(plan);
  for (;;) {
    const found = await readEntries(plan, snapshot, { limit: step, after });
    for (const [index, run] of found.runs.entries()) {
      const wait = pause();
      if (wait !== undefined) await wait;
      const items = select(run);
      chunks.push(items.length > missing ? items.slice(0, missing) : items);
      missing -= items.length;
      if (missing > 0) continue;
      const last = chunks.at(-1)!.at(-1)!.key;
      const rest = entriesAfter(last, found.runs.slice(index)) + found.remaining;
      if (rest === 0) break;
      const token = { revision, after: last.slice(prefix.length) };
      const continueToken = encodeContinue(token, registry.catalog.domain);
      const remaining = selection.empty ? rest : undefined;
      return { revision, next: { continueToken, remaining }, ...delivered(chunks) };
    }
    after = found.runs.at(-1)?.at(-1)?.key;
    if (found.remaining === 0 || after === undefined) {
      return { revision, next: undefined, ...delivered(chunks) };
    }
    step = Math.min(step * 2, maxChunk);
  }
}

/** Number of entries after the key, which is in the first run. */
function entriesAfter(key: string, runs: readonly (readonly Entry[])[]): number {
  const total = runs.reduce((sum, { length }) => sum + length, 0);
  return total - 1 - runs[0]!.findIndex((entry) => entry.key === key);
}

/** A list without a limit: the response starts when the first chunk has been read. */
async function listAll(plan: ListPlan, snapshot: Snapshot): Promise<ItemList> {
  const first = await readEntries(plan, snapshot, { limit: chunk, after: startOf(plan) });
  const { registry, request } = plan;
  if (registry.store.collection(request.resource.keyPrefix).unreadable > 0) {
    // An entry that cannot be decrypted must fail the list before the response has started.
    for await (const _items of chunksOf(plan, snapshot, first)) continue;
  }
  const chunks = chunksOf(plan, snapshot, first);
  return { items: flat(chunks), chunks, revision: snapshot.revision, next: undefined };
}

async function* chunksOf(
  plan: ListPlan,
  snapshot: Snapshot,
  first: Page,
): AsyncGenerator<readonly Item[], void, undefined> {
  const pause = yieldEvery();
  const { registry, request, selection } = plan;
  const select = selectorOf(registry, request.resource, selection);
  let step = chunk;
  for (let found = first; ;) {
    request.context.signal.throwIfAborted();
    for (const run of found.runs) {
      const wait = pause();
      if (wait !== undefined) await wait;
      const items = select(run);
      if (items.length > 0) yield items;
    }
    const after = found.runs.at(-1)?.at(-1)?.key;
    if (found.remaining === 0 || after === undefined) return;
    if (!selection.empty) step = Math.min(step * 2, maxChunk);
    found = await readEntries(plan, snapshot, { limit: step, after });
  }
}

/** A list of items in memory. */
export function delivered(
  chunks: readonly (readonly Item[])[],
): Pick<ItemList, "items" | "chunks"> {
  const filled = chunks.filter(({ length }) => length > 0);
  return { items: flat(each(filled)), chunks: each(filled) };
}

async function* each<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}

async function* flat(
  chunks: AsyncIterable<readonly Item[]>,
): AsyncGenerator<Item, void, undefined> {
  for await (const items of chunks) yield* items;
}
