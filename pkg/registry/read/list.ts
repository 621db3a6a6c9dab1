import { yieldEvery } from "#base";
import { badRequest, expired, tooLargeResourceVersion } from "#meta";
import { type Entry, type Page, type Snapshot, StoreFault } from "#storage";
import { type ContinueToken, decodeContinue, encodeContinue } from "./continue-token.ts";
import type { Item, ItemList, ListOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { checkListOptions, type ListVersion, listVersion } from "./list-options.ts";
import { selectorOf } from "./selected-items.ts";
import { type Selection, selectionOf } from "./selection.ts";
import { collectionPrefix, isReadable, StoredItem } from "../codec/stored.ts";
import { parseResourceVersion } from "../write/preconditions.ts";

/** Entries looked at in one go. */
const chunk = 500;
/** Lists with a selector look at up to so many in one go, as it thins out. */
const largestChunk = 10_000;

/**
 * GET of a collection: one state of the store, page by page. A list without a limit is never whole
 * in memory; one with a limit holds no more than the limit. Throws 400, 410, 422 and 504 as
 * Kubernetes does.
 */
export async function list(
  registry: RegistryContext,
  request: ResourceRequest,
  options: ListOptions,
): Promise<ItemList> {
  const selection = selectionOf(request, options);
  checkListOptions(options, registry.catalog.domain);
  const walk = planList(registry, request, { options, selection });
  const snapshot = await snapshotOf(walk);
  if (
    selection.name !== undefined &&
    options.continueToken === "" &&
    isOneKey(request, selection)
  ) {
    return one(walk, snapshot, selection.name);
  }
  return walk.limit > 0 ? page(walk, snapshot) : everything(walk, snapshot);
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
  // "Any version" comes from a cache in Kubernetes, which answers whole lists; events have no
  // cache.
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

/** The state that the list shows. */
async function snapshotOf(walk: ListPlan): Promise<Snapshot> {
  const { registry, version, request, options } = walk;
  const { signal } = request.context;
  const collection = registry.store.collection(request.resource.keyPrefix);
  const exact = exactRevision(version);
  if (exact !== undefined) return collection.at(exact, { signal });
  const least = version.kind === "newest" ? version.least : 0n;
  const { resourceVersion, continueToken, ownWrites = false } = options;
  const consistent = (resourceVersion === "" || continueToken !== "") && !ownWrites;
  const atLeast = consistent ? {} : { atLeast: ownWrites ? collection.written : Number(least) };
  const snapshot = await collection.newest({ signal, ...atLeast });
  if (least > BigInt(snapshot.revision)) throw tooLargeResourceVersion(least, snapshot.revision);
  return snapshot;
}

/** The entries that follow `after`. */
async function read(
  walk: ListPlan,
  snapshot: Snapshot,
  { limit, after }: { readonly limit: number; readonly after: string | undefined },
): Promise<Page> {
  try {
    return await snapshot.page(walk.prefix, { limit, after, signal: walk.request.context.signal });
  } catch (fault) {
    throw fault instanceof StoreFault ? clientFacing(walk, fault, after) : fault;
  }
}

/** Versions beyond what a store can ever reach are as far in the future as any. */
function exactRevision(version: ListVersion): number | undefined {
  if (version.kind !== "exact") return undefined;
  return Number(
    version.revision < BigInt(Number.MAX_SAFE_INTEGER) ? version.revision : Number.MAX_SAFE_INTEGER,
  );
}

function clientFacing(walk: ListPlan, fault: StoreFault, after: string | undefined): Error {
  const { version, token } = walk;
  if (fault.detail.kind === "future-revision" && version.kind === "exact") {
    return tooLargeResourceVersion(version.revision, fault.detail.current);
  }
  if (fault.detail.kind !== "compacted") return fault;
  if (token === undefined) {
    return expired("The resourceVersion for the provided list is too old.");
  }
  const last = after?.slice(walk.prefix.length) ?? token.after;
  const { domain } = walk.registry.catalog;
  return expired(
    "The provided continue parameter is too old to display a consistent list result. You can " +
      "start a new list without the continue parameter, or use the continue token in this " +
      "response to retrieve the remainder of the results. Continuing with the provided token " +
      "results in an inconsistent list - objects that were created, modified, or deleted " +
      "between the time the first chunk was returned and now may show up in the list.",
    encodeContinue({ revision: undefined, after: last }, domain),
  );
}

function startOf({ token, prefix }: ListPlan): string | undefined {
  return token === undefined ? undefined : prefix + token.after;
}

/** At most one object, by its key. */
async function one(walk: ListPlan, snapshot: Snapshot, name: string): Promise<ItemList> {
  const { prefix, selection, registry, request } = walk;
  const key = prefix + name;
  // Keys that begin with `key` follow it, so that it is the first of them if it exists.
  const { runs } = await read({ ...walk, prefix: key }, snapshot, { limit: 1, after: undefined });
  const found = runs.flat().filter((entry) => entry.key === key && isReadable(entry));
  const items = found.map((entry) => StoredItem.shared(registry, request.resource, entry));
  const { revision } = snapshot;
  return { revision, next: undefined, ...delivered([items.filter(selection.matches)]) };
}

/**
 * A list with a limit: walks until so many objects match, in growing steps where a selector thins
 * out.
 */
async function page(walk: ListPlan, snapshot: Snapshot): Promise<ItemList> {
  const { limit, registry, request, selection, prefix } = walk;
  const { revision } = snapshot;
  const select = selectorOf(registry, request.resource, selection);
  const chunks: (readonly Item[])[] = [];
  let missing = limit;
  const pause = yieldEvery();
  let step = Math.min(limit, largestChunk);
  let after = startOf(walk);
  for (;;) {
    const found = await read(walk, snapshot, { limit: step, after });
    for (const [index, run] of found.runs.entries()) {
      const wait = pause();
      if (wait !== undefined) await wait;
      const items = select(run);
      chunks.push(items.length > missing ? items.slice(0, missing) : items);
      missing -= items.length;
      if (missing > 0) continue;
      const last = chunks.at(-1)!.at(-1)!.key;
      const behind = entriesBehind(last, found.runs.slice(index)) + found.remaining;
      if (behind === 0) break;
      const token = { revision, after: last.slice(prefix.length) };
      const continueToken = encodeContinue(token, registry.catalog.domain);
      const remaining = selection.empty ? behind : undefined;
      return { revision, next: { continueToken, remaining }, ...delivered(chunks) };
    }
    after = found.runs.at(-1)?.at(-1)?.key;
    if (found.remaining === 0 || after === undefined) {
      return { revision, next: undefined, ...delivered(chunks) };
    }
    step = Math.min(step * 2, largestChunk);
  }
}

/** How many entries follow that of the key, which is in the first run. */
function entriesBehind(key: string, runs: readonly (readonly Entry[])[]): number {
  const total = runs.reduce((sum, { length }) => sum + length, 0);
  return total - 1 - runs[0]!.findIndex((entry) => entry.key === key);
}

/** A list without a limit: only the first chunk is read before the response starts. */
async function everything(walk: ListPlan, snapshot: Snapshot): Promise<ItemList> {
  const first = await read(walk, snapshot, { limit: chunk, after: startOf(walk) });
  const chunks = chunksOf(walk, snapshot, first);
  return { items: flat(chunks), chunks, revision: snapshot.revision, next: undefined };
}

async function* chunksOf(
  walk: ListPlan,
  snapshot: Snapshot,
  first: Page,
): AsyncGenerator<readonly Item[], void, undefined> {
  const pause = yieldEvery();
  const { registry, request, selection } = walk;
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
    if (!selection.empty) step = Math.min(step * 2, largestChunk);
    found = await read(walk, snapshot, { limit: step, after });
  }
}

/** Items that are all there already. */
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
