/**
 * Copies of bootstrap objects. The first two servers of a process with default options create them one
 * by one; servers that start later in an empty store store the same as the second, with uids and times
 * of their own. The first keeps nothing, as most processes start one server.
 */
import { randomUUID } from "node:crypto";
import type { Resource } from "#meta";
import { type Item, listAll, loopbackRequest } from "#registry";
import { prefixEnd, type WriteOperation } from "#storage";
import type { Assembly } from "../start/assemble.ts";

type CopyContext = Pick<
  Assembly,
  "catalog" | "clock" | "hasDefaultOptions" | "registry" | "signal" | "storage" | "storageRoot"
>;

/** A stored object: as JSON in pieces, between which stands what differs between servers, and decoded. */
interface Template {
  /** Without the storage root. */
  readonly key: string;
  readonly pieces: readonly string[];
  /** What follows each piece but the last. */
  readonly gaps: readonly ("uid" | "time" | "date")[];
  /** In hub form; absent if it differs in more than its metadata. */
  readonly object?: any;
}

let templates: readonly Template[] | undefined;

/** Stores them in one transaction; false where they have to be created one by one. */
export async function copyBootstrapObjects(context: CopyContext): Promise<boolean> {
  if (templates === undefined || !(await canShare(context))) return false;
  const { clock, registry, storage, storageRoot } = context;
  const time = `${new Date(clock.now()).toISOString().slice(0, "2006-01-02T15:04:05".length)}Z`;
  const copies = templates.map((template) => {
    return { ...template, values: { uid: randomUUID(), time, date: dateOf(time) } };
  });
  const then = copies.map(({ key, pieces, gaps, values }): WriteOperation => {
    const text = pieces.map((piece, n) => piece + (n < gaps.length ? values[gaps[n]!] : ""));
    return { put: storageRoot + key, value: Buffer.from(text.join("")) };
  });
  const compare = copies.map(({ key }) => ({ key: storageRoot + key, modRevision: 0 }));
  const { succeeded, revision } = await storage.backend.txn({ compare, then, otherwise: [] });
  if (!succeeded) return false;
  const decoded = copies.flatMap(({ key, object, values: { uid } }) =>
    object === undefined ? [] : [[key, objectOf(object, { uid, time, revision })] as const],
  );
  registry.adopt(new Map(decoded));
  return true;
}

interface Identity {
  readonly uid: string;
  readonly time: string;
  readonly revision: number;
}

function objectOf({ metadata, ...rest }: any, { uid, time, revision }: Identity): any {
  const managedFields = metadata.managedFields.map((entry: any) => ({ ...entry, time }));
  const identity = { uid, creationTimestamp: time, resourceVersion: String(revision) };
  return { ...rest, metadata: { ...metadata, ...identity, managedFields } };
}

let created = 0;

/** Whether later servers shall have copies of the objects that this one is to create. */
export async function isOriginalOfCopies(context: CopyContext): Promise<boolean> {
  if (templates !== undefined || !(await canShare(context))) return false;
  created += 1;
  return created > 1;
}

/** Keeps the objects that were created for `copyBootstrapObjects`; nothing else is stored yet. */
export async function keepBootstrapObjects(context: CopyContext): Promise<void> {
  const { catalog, registry, signal, storage, storageRoot } = context;
  const { entries } = await storage.backend.range(rangeOf(context));
  const isStored = ({ keyPrefix }: Resource) =>
    entries.some(({ key }) => key.startsWith(storageRoot + keyPrefix));
  const resources = new Map(
    catalog.resources.filter(isStored).map((each) => [each.keyPrefix, each]),
  );
  const found: Template[] = [];
  for (const resource of resources.values()) {
    const request = loopbackRequest(resource, {}, { signal });
    const { items } = await registry.list(request, { ...listAll, resourceVersion: "0" });
    for await (const item of items) found.push(templateOf(item));
  }
  templates ??= found;
}

async function canShare(context: CopyContext): Promise<boolean> {
  if (!context.hasDefaultOptions) return false;
  const { entries } = await context.storage.backend.range({ ...rangeOf(context), limit: 1 });
  return entries.length === 0;
}

function rangeOf({ storageRoot }: CopyContext): { readonly from: string; readonly to: string } {
  const from = `${storageRoot}/`;
  return { from, to: prefixEnd(from) };
}

/** Uids, times and dates are whole strings; no bootstrap object has a date that does not change. */
function templateOf({ key, bytes, object }: Item): Template {
  const { uid } = object.metadata;
  const values = new RegExp(`(?<=")(${uid}|\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}:\\d{2}Z)?)(?=")`);
  // Every second part is what the group has matched.
  const parts = Buffer.from(bytes).toString().split(values);
  const pieces = parts.filter((_part, n) => n % 2 === 0);
  const found = parts.filter((_part, n) => n % 2 === 1);
  const gaps = found.map((value) => {
    if (value === uid) return "uid";
    return value === dateOf(value) ? "date" : "time";
  });
  return gaps.includes("date") ? { key, pieces, gaps } : { key, pieces, gaps, object };
}

function dateOf(time: string): string {
  return time.slice(0, "2006-01-02".length);
}
