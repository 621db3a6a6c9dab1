import { badRequest, expired, tooLargeResourceVersion } from "#meta";
import type { Entry, ListPage } from "#storage";
import { StoreFault } from "#storage";
import { type ContinueToken, decodeContinue, encodeContinue } from "./continue-token.ts";
import type { Item, ItemList, ListOptions, Target } from "./contract.ts";
import type { Environment } from "./environment.ts";
import { checkListOptions, type ListVersion, listVersion } from "./list-options.ts";
import { type Selection, selectionOf } from "./selection.ts";
import { collectionPrefix, StoredItem } from "./stored.ts";
import { parseVersion } from "./versions.ts";

/**
 * Entries that one read of the store brings at most; selective lists start at their limit and grow.
 */
const chunk = 1000;
const largestChunk = 10_000;

/**
 * GET of a collection: one state of the store, page by page. A list without a limit is never whole
 * in memory; one with a limit holds no more than the limit. Throws 400, 410, 422 and 504 as
 * Kubernetes does.
 */
export async function list(
  environment: Environment,
  target: Target,
  options: ListOptions,
): Promise<ItemList> {
  const selection = selectionOf(target, options);
  checkListOptions(options, environment.catalog.domain);
  const walk = walkOf(environment, target, { options, selection });
  if (selection.name !== undefined && options.continueToken === "" && isOneKey(target, selection)) {
    return one(walk, selection.name);
  }
  return walk.limit > 0 ? page(walk) : everything(walk);
}

/** A walk over the keys of a collection in one state of the store. */
interface Walk {
  readonly environment: Environment;
  readonly target: Target;
  readonly options: ListOptions;
  readonly selection: Selection;
  readonly prefix: string;
  /** 0 = none. */
  readonly limit: number;
  readonly version: ListVersion;
  readonly token: ContinueToken | undefined;
}

function walkOf(
  environment: Environment,
  target: Target,
  { options, selection }: { readonly options: ListOptions; readonly selection: Selection },
): Walk {
  const namespace = selection.namespace ?? target.namespace;
  const prefix = collectionPrefix({ ...target, namespace });
  const common = { environment, target, options, selection, prefix };
  // "Any version" comes from a cache in Kubernetes, which answers whole lists; events have no
  // cache.
  const any = parseVersion(options.resourceVersion) === 0n;
  const cached = any && !target.resource.kind.rules.expires;
  const limit = cached ? 0 : Math.max(0, options.limit);
  if (options.continueToken === "") {
    return { ...common, limit, version: listVersion(options), token: undefined };
  }
  if (parseVersion(options.resourceVersion || "0") !== 0n) {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const token = decodeContinue(options.continueToken, environment.catalog.domain);
  const version: ListVersion =
    token.revision === undefined
      ? { kind: "newest", least: 0n }
      : { kind: "exact", revision: BigInt(token.revision) };
  return { ...common, limit, version, token };
}

function isOneKey({ resource, namespace }: Target, selection: Selection): boolean {
  return resource.kind.scope === "Cluster" || (selection.namespace ?? namespace) !== "";
}

/** Reads on from the token or from `after`. */
async function read(
  walk: Walk,
  from: { readonly limit: number; readonly after?: string; readonly revision?: number },
): Promise<ListPage> {
  const { environment, prefix, version, target } = walk;
  const exact = from.revision ?? exactRevision(version);
  try {
    const found = await environment.store.list(prefix, {
      limit: from.limit,
      signal: target.signal,
      ...(exact === undefined ? {} : { revision: exact }),
      ...(from.after === undefined ? {} : { after: from.after }),
    });
    if (version.kind === "newest" && version.least > BigInt(found.revision)) {
      throw tooLargeResourceVersion(version.least, found.revision);
    }
    return found;
  } catch (fault) {
    throw fault instanceof StoreFault ? translated(walk, fault, from.after) : fault;
  }
}

/** Versions beyond what a store can ever reach are as far in the future as any. */
function exactRevision(version: ListVersion): number | undefined {
  if (version.kind !== "exact") return undefined;
  return Number(version.revision < BigInt(Number.MAX_SAFE_INTEGER)
    ? version.revision
    : Number.MAX_SAFE_INTEGER);
}

function translated(walk: Walk, fault: StoreFault, after: string | undefined): Error {
  const { version, token } = walk;
  if (fault.detail.kind === "future-revision" && version.kind === "exact") {
    return tooLargeResourceVersion(version.revision, fault.detail.current);
  }
  if (fault.detail.kind !== "compacted") return fault;
  if (token === undefined) {
    return expired("The resourceVersion for the provided list is too old.");
  }
  const last = after?.slice(walk.prefix.length) ?? token.after;
  const { domain } = walk.environment.catalog;
  return expired(
    "The provided continue parameter is too old to display a consistent list result. You can " +
      "start a new list without the continue parameter, or use the continue token in this " +
      "response to retrieve the remainder of the results. Continuing with the provided token " +
      "results in an inconsistent list - objects that were created, modified, or deleted " +
      "between the time the first chunk was returned and now may show up in the list.",
    encodeContinue({ revision: undefined, after: last }, domain),
  );
}

function startOf({ token, prefix }: Walk): { readonly after?: string } {
  return token === undefined ? {} : { after: prefix + token.after };
}

/** At most one object, by its key. */
async function one(walk: Walk, name: string): Promise<ItemList> {
  const { prefix, selection, environment, target } = walk;
  const key = prefix + name;
  // Keys that begin with `key` follow it, so that it is the first of them if it exists.
  const { entries, revision } = await read({ ...walk, prefix: key }, { limit: 1 });
  const found = entries[0]?.key === key ? entries : [];
  const items = found.map((entry) => new StoredItem(environment, target, entry));
  return { items: delivered(items.filter(selection.matches)), revision, next: undefined };
}

/**
 * A list with a limit: walks until so many objects match, in growing steps where a selector thins
 * out.
 */
async function page(walk: Walk): Promise<ItemList> {
  const { limit, selection, environment, target, prefix } = walk;
  const items: Item[] = [];
  let step = Math.min(limit, largestChunk);
  let found = await read(walk, { ...startOf(walk), limit: step });
  const { revision } = found;
  for (;;) {
    for (const [index, entry] of found.entries.entries()) {
      const item = new StoredItem(environment, target, entry);
      if (selection.empty || selection.matches(item)) items.push(item);
      if (items.length < limit) continue;
      const behind = found.remaining + found.entries.length - index - 1;
      if (behind === 0) break;
      const after = entry.key.slice(prefix.length);
      const continueToken = encodeContinue({ revision, after }, environment.catalog.domain);
      const remaining = selection.empty ? behind : undefined;
      return { items: delivered(items), revision, next: { continueToken, remaining } };
    }
    const last = found.entries.at(-1);
    if (found.remaining === 0 || last === undefined) {
      return { items: delivered(items), revision, next: undefined };
    }
    step = Math.min(step * 2, largestChunk);
    found = await read(walk, { after: last.key, limit: step, revision });
  }
}

/** A list without a limit: only the first page is read before the answer begins. */
async function everything(walk: Walk): Promise<ItemList> {
  const first = await read(walk, { ...startOf(walk), limit: chunk });
  return { items: pages(walk, first), revision: first.revision, next: undefined };
}

async function* pages(walk: Walk, first: ListPage): AsyncGenerator<Item, void, undefined> {
  const { environment, target, selection } = walk;
  const { revision } = first;
  for (let found = first; ; ) {
    for (const entry of found.entries) {
      const item = new StoredItem(environment, target, entry);
      if (selection.empty || selection.matches(item)) yield item;
    }
    const last: Entry | undefined = found.entries.at(-1);
    if (found.remaining === 0 || last === undefined) return;
    found = await read(walk, { after: last.key, limit: chunk, revision });
  }
}

async function* delivered(items: readonly Item[]): AsyncGenerator<Item, void, undefined> {
  yield* items;
}
