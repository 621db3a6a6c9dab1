/**
 * Stores the bootstrap objects of a server with default kinds and features in an empty store: copies of
 * those in stored-objects.json, which a test compares with what the write pipeline creates.
 */
import { randomUUID } from "node:crypto";
import { OpaqueJson, parseJsonText } from "#base";
import { kubernetes } from "#meta";
import { faultError } from "#registry";
import { prefixEnd, StoreFault, type WriteOperation } from "#storage";
import type { Assembly } from "../start/assemble.ts";
import type { StoredObject } from "./stored-objects.ts";

type CopyContext = Pick<
  Assembly,
  "catalog" | "clock" | "options" | "registry" | "storage" | "storageRoot"
>;

/** A stored object as JSON in pieces, and decoded. */
interface Template {
  readonly key: string;
  readonly pieces: readonly string[];
  /** What follows each piece but the last. */
  readonly gaps: readonly Placeholder[];
  /** In hub form; absent if it differs in more than its metadata. */
  readonly object?: any;
}

type Placeholder = "uid" | "time" | "date";

interface Copy {
  readonly template: Template;
  readonly uid: string;
  readonly text: string;
}

/** etcd refuses transactions of more than 128 operations. */
const copiesPerTransaction = 100;

/**
 * Stores them; false where they have to be created or repaired one by one.
 * @throws StatusError if the store fails
 */
export async function copyBootstrapObjects(context: CopyContext): Promise<boolean> {
  if (!storesDefaultObjects(context)) return false;
  try {
    return (await isEmpty(context)) && (await storeCopies(context));
  } catch (error) {
    throw error instanceof StoreFault ? faultError(error) : error;
  }
}

/** False if one of the keys is taken, by another replica that starts as well. */
async function storeCopies(context: CopyContext): Promise<boolean> {
  templates ??= await readTemplates();
  const [seconds] = new Date(context.clock.now()).toISOString().split(".");
  const time = `${seconds}Z`;
  const date = time.slice(0, "2006-01-02".length);
  const copies = templates.map((template): Copy => {
    const uid = randomUUID();
    const values = { uid, time, date };
    const { pieces, gaps } = template;
    const text = pieces.map((piece, n) => piece + (n < gaps.length ? values[gaps[n]!] : ""));
    return { template, uid, text: text.join("") };
  });
  for (let from = 0; from < copies.length; from += copiesPerTransaction) {
    const stored = copies.slice(from, from + copiesPerTransaction);
    const revision = await storeTogether(context, stored);
    if (revision === undefined) return false;
    const decoded = stored.map(
      (copy) => [copy.template.key, objectOf(copy, time, revision)] as const,
    );
    context.registry.adopt(new Map(decoded));
  }
  return true;
}

/** The revision of the objects; undefined if a key is taken. */
async function storeTogether(
  { storage, storageRoot }: CopyContext,
  copies: readonly Copy[],
): Promise<number | undefined> {
  const keys = copies.map(({ template: { key } }) => storageRoot + key);
  const then = copies.map(({ text }, n): WriteOperation => {
    return { put: keys[n]!, value: Buffer.from(text) };
  });
  const compare = keys.map((key) => ({ key, modRevision: 0 }));
  const { succeeded, revision } = await storage.backend.txn({ compare, then, otherwise: [] });
  return succeeded ? revision : undefined;
}

/** The object as readers have it. */
function objectOf({ template, uid, text }: Copy, time: string, revision: number): any {
  const { metadata, ...rest } = template.object ?? decodedForm(parseJsonText(text));
  const managedFields = metadata.managedFields.map((entry: any) => ({ ...entry, time }));
  const identity = { uid, creationTimestamp: time, resourceVersion: String(revision) };
  return { ...rest, metadata: { ...metadata, ...identity, managedFields } };
}

/** Whether the bootstrap objects of a server with these options are those of a server without options. */
function storesDefaultObjects({ catalog, options }: CopyContext): boolean {
  const { featureGates, runtimeConfig, storageMediaType } = options;
  const { api, label } = catalog.domain;
  const hasDefaultKinds = api === kubernetes.api && label === kubernetes.label;
  const isChanged = [featureGates, runtimeConfig].some((each) => (each?.size ?? 0) > 0);
  return hasDefaultKinds && !isChanged && storageMediaType !== "protobuf";
}

async function isEmpty({ storage, storageRoot }: CopyContext): Promise<boolean> {
  const from = `${storageRoot}/`;
  const { entries } = await storage.backend.range({
    from,
    to: prefixEnd(from),
    limit: 1,
    keysOnly: true,
  });
  return entries.length === 0;
}

let templates: readonly Template[] | undefined;

async function readTemplates(): Promise<readonly Template[]> {
  const { storedObjects } = await import("./stored-objects.ts");
  return storedObjects.map(templateOf);
}

function templateOf({ key, object }: StoredObject): Template {
  // Every second part is what the group has matched.
  const parts = JSON.stringify(object).split(/(?<=")\$(uid|time|date)(?=")/);
  const pieces = parts.filter((_part, n) => n % 2 === 0);
  const gaps = parts.filter((_part, n) => n % 2 === 1) as Placeholder[];
  const { metadata: _identity, ...rest } = object;
  const isSame = !JSON.stringify(rest).includes('"$');
  return isSame ? { key, pieces, gaps, object: decodedForm(object) } : { key, pieces, gaps };
}

/** What the decoder makes of a bootstrap object: the same without its type, and with opaque fieldsV1. */
export function decodedForm({ kind: _kind, apiVersion: _apiVersion, metadata, ...rest }: any): any {
  const managedFields = metadata.managedFields.map((entry: any) => {
    return { ...entry, fieldsV1: OpaqueJson.of(entry.fieldsV1) };
  });
  return { ...rest, metadata: { ...metadata, managedFields } };
}
