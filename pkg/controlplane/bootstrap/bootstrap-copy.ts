/**
 * Stores the bootstrap objects of a server with default kinds and features in an empty store: copies of
 * those in stored-objects.json, which a test compares with what the write pipeline creates.
 */
import { deepEqual, OpaqueJson, parseJsonText, randomUuid } from "#base";
import { kubernetes } from "#meta";
import { faultError } from "#registry";
import { prefixEnd, StoreFault, type WriteOperation } from "#storage";
import { defaultNetwork, serverPort } from "../network.ts";
import type { StartOptions } from "../options.ts";
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

type Placeholder = "uid" | "time" | "date" | "port";

interface Copy {
  readonly template: Template;
  readonly uid: string;
  readonly text: string;
}

/** etcd refuses transactions of more than 128 operations. */
const copiesPerTransaction = 100;

/**
 * Stores copies of the bootstrap objects, with the Service `kubernetes` if `servicePort` is known. Returns
 * false if the objects have to be created one by one: the options change them, the store is not empty, or
 * another replica stores them at the same time.
 * @throws StatusError if the store fails
 */
export async function copyBootstrapObjects(
  context: CopyContext,
  servicePort: number | undefined,
): Promise<boolean> {
  if (!storesDefaultObjects(context)) return false;
  try {
    return (await isEmpty(context)) && (await storeCopies(context, servicePort));
  } catch (error) {
    throw error instanceof StoreFault ? faultError(error) : error;
  }
}

/**
 * Target port of the Service `kubernetes`. Undefined if the Service cannot be copied: the server chooses its
 * port when it listens (port 0), or does not have the default Service network.
 */
export function defaultServicePort({ port = serverPort, serviceNetwork }: StartOptions) {
  const { cidrs } = serviceNetwork ?? defaultNetwork;
  return deepEqual(cidrs, defaultNetwork.cidrs) && port !== 0 ? port : undefined;
}

/** Returns false if a key is taken: another replica stores its objects at the same time. */
async function storeCopies(context: CopyContext, port: number | undefined): Promise<boolean> {
  templates ??= await readTemplates();
  const stored = port === undefined ? templates.filter((each) => !isOfService(each)) : templates;
  const [seconds] = new Date(context.clock.now()).toISOString().split(".");
  const time = `${seconds}Z`;
  const date = time.slice(0, "2006-01-02".length);
  const common = { time, date, port: String(port) };
  const copies = stored.map((template): Copy => {
    const uid = randomUuid();
    const values = { ...common, uid };
    const { pieces, gaps } = template;
    const text = pieces.map((piece, n) => piece + (n < gaps.length ? values[gaps[n]!] : ""));
    return { template, uid, text: text.join("") };
  });
  for (let from = 0; from < copies.length; from += copiesPerTransaction) {
    const batch = copies.slice(from, from + copiesPerTransaction);
    const revision = await storeTogether(context, batch);
    if (revision === undefined) return false;
    const decoded = batch.map(
      (copy) => [copy.template.key, objectOf(copy, time, revision)] as const,
    );
    context.registry.adopt(new Map(decoded));
  }
  return true;
}

/** Stores the copies in one transaction. Returns its revision, or undefined if a key is taken. */
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

/** The stored object in decoded form, as the registry returns it. */
function objectOf({ template, uid, text }: Copy, time: string, revision: number): any {
  const { metadata, ...rest } = template.object ?? decodedForm(text);
  const managedFields = metadata.managedFields?.map((entry: any) => ({ ...entry, time }));
  const identity = { uid, creationTimestamp: time, resourceVersion: String(revision) };
  const managed = managedFields && { managedFields };
  return { ...rest, metadata: { ...metadata, ...identity, ...managed } };
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

function templateOf({ key, text }: StoredObject): Template {
  // Every second part is what the group has matched.
  const parts = text.split(/\$(uid|time|date|port)\b/);
  const pieces = parts.filter((_part, n) => n % 2 === 0);
  const gaps = parts.filter((_part, n) => n % 2 === 1) as Placeholder[];
  if (gaps.includes("port")) return { key, pieces, gaps };
  const object = decodedForm(text);
  // Its uid, its time and those of its managers.
  const ofMetadata = 2 + (object.metadata.managedFields?.length ?? 0);
  return { key, pieces, gaps, ...(gaps.length === ofMetadata && { object }) };
}

function isOfService({ key }: Template): boolean {
  return /^\/(?:ipaddresses|servicecidrs|services)\//.test(key);
}

/** Decoded form of a bootstrap object: its JSON without kind and apiVersion, and with opaque fieldsV1. */
export function decodedForm(text: string): any {
  const { kind: _kind, apiVersion: _apiVersion, ...object } = parseJsonText(text) as any;
  for (const entry of object.metadata.managedFields ?? []) {
    entry.fieldsV1 = OpaqueJson.of(entry.fieldsV1);
  }
  return object;
}
