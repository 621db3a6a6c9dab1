/**
 * Stores the bootstrap objects of a server with default kinds and features in an empty store: copies of
 * those in stored-objects.json, which a test compares with what the write pipeline creates.
 */
import { deepEqual, OpaqueJson, parseJsonText, randomUuid } from "#base";
import { kubernetes } from "#meta";
import { faultError } from "#registry";
import { prefixEnd, StoreFault, type WriteOperation } from "#storage";
import { defaultNetwork, serverPort } from "../network.ts";
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
 * Stores them; "none" where they have to be created or repaired one by one. The Service `kubernetes` is among
 * them if its port and address are known, so that "all" are stored.
 * @throws StatusError if the store fails
 */
export async function copyBootstrapObjects(
  context: CopyContext,
): Promise<"none" | "without Service" | "all"> {
  if (!storesDefaultObjects(context)) return "none";
  try {
    if (!(await isEmpty(context))) return "none";
    const port = defaultServicePort(context);
    if (!(await storeCopies(context, port))) return "none";
    return port === undefined ? "without Service" : "all";
  } catch (error) {
    throw error instanceof StoreFault ? faultError(error) : error;
  }
}

/** Target port of the Service `kubernetes` in the default network; undefined if it is not known yet. */
function defaultServicePort({ options }: CopyContext): number | undefined {
  const { port = serverPort, serviceNetwork: network = defaultNetwork } = options;
  const isDefault = deepEqual(network.cidrs, defaultNetwork.cidrs);
  return isDefault && port !== 0 ? port : undefined;
}

/** False if one of the keys is taken, by another replica that starts as well. */
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

/** What the decoder makes of a bootstrap object: the same without its type, and with opaque fieldsV1. */
export function decodedForm(text: string): any {
  const { kind: _kind, apiVersion: _apiVersion, ...object } = parseJsonText(text) as any;
  for (const entry of object.metadata.managedFields ?? []) {
    entry.fieldsV1 = OpaqueJson.of(entry.fieldsV1);
  }
  return object;
}
