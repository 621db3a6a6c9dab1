/** Loads a recording into an empty store, before the server is ready. */
import { bootstrapObjects } from "#api";
import { printJson, realClock } from "#base";
import { type Resource, resolve, StatusError } from "#meta";
import { jsonBody, loopbackRequest } from "#registry";
import { prefixEnd } from "#storage";
import type { Assembly } from "../start/assemble.ts";
import { isStoreUnavailable } from "../start/post-start-hooks.ts";
import { StartError } from "../start/start-error.ts";
import { alignOwners } from "./owners.ts";
import { type ReadObject, readRecording } from "./read-recording.ts";

type LoadContext = Pick<
  Assembly,
  "catalog" | "clock" | "options" | "registry" | "signal" | "storage" | "storageRoot"
>;

/** Time limit in ms until loaded CustomResourceDefinitions are served. */
const establishMs = 30_000;
/** Number of objects that are stored concurrently, enough to keep etcd busy. */
const parallel = 32;
/** Maximum number of faults that an error lists; the others are counted. */
const maxFaults = 20;

/**
 * Loads the objects of `directory`: CustomResourceDefinitions, then namespaces, then all others,
 * each with its uid, times, status and managedFields.
 *
 * @throws StartError if the store has objects, or with a line for each object that cannot be loaded
 */
export async function loadRecording(context: LoadContext, directory: string): Promise<void> {
  await refuseFilledStore(context, directory);
  const { objects, faults } = await read(directory);
  const { logger } = context.options;
  for (const line of alignOwners(objects)) logger.info(0, `${directory}: ${line}`);
  const group = resolve("apiextensions.{api}", context.catalog.domain);
  const definitions = objects.filter(({ object }) =>
    isOf(object, group, "CustomResourceDefinition"),
  );
  const namespaces = objects.filter(({ object }) => isOf(object, "", "Namespace"));
  const first = new Set([...definitions, ...namespaces]);
  const loader = new Loader(context, namespaces, faults);
  await loader.load(definitions);
  await loader.load(namespaces);
  await served(context, definitions);
  await loader.load(objects.filter((each) => !first.has(each)));
  loader.end(directory, objects.length);
}

async function refuseFilledStore(
  { storage, storageRoot }: LoadContext,
  directory: string,
): Promise<void> {
  const from = `${storageRoot}/`;
  const { entries } = await storage.backend.range({ from, to: prefixEnd(from), limit: 1 });
  if (entries.length === 0) return;
  throw new StartError(
    `${directory} can only be loaded into an empty store, and this one has objects: ` +
      "start without --from to use them, or use another store",
  );
}

async function read(directory: string): ReturnType<typeof readRecording> {
  try {
    return await readRecording(directory);
  } catch (error) {
    const { code, path = directory } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartError(`${path} cannot be read (${code})`, { cause: error });
  }
}

function isOf({ apiVersion, kind }: ReadObject["object"], group: string, wanted: string): boolean {
  const [first = "", version] = String(apiVersion).split("/");
  return kind === wanted && (version === undefined ? "" : first) === group;
}

/** Resolves when the catalog has the kinds of the definitions, or at the latest after `establishMs`. */
async function served(
  { catalog, clock, signal }: LoadContext,
  definitions: readonly ReadObject[],
): Promise<void> {
  const kinds = definitions.flatMap(({ object }) => {
    const { group, names, versions } = object["spec"] ?? {};
    const list = Array.isArray(versions) ? versions : [];
    return list
      .filter((each) => each?.served)
      .map((each) => [`${group}/${each.name}`, names?.kind]);
  });
  const areServed = () => kinds.every(([version, kind]) => catalog.findKind(version, kind));
  const enough = new AbortController();
  const forget = catalog.onChange(() => areServed() && enough.abort());
  if (areServed()) enough.abort();
  const until = AbortSignal.any([enough.signal, signal]);
  await realClock(clock)
    .sleep(establishMs, until)
    .catch(() => signal.throwIfAborted());
  forget();
}

class Loader {
  private readonly faults: string[];
  private readonly namespaces: ReadonlySet<string>;

  constructor(
    private readonly context: LoadContext,
    namespaces: readonly ReadObject[],
    faults: readonly string[],
  ) {
    this.faults = [...faults];
    const system = bootstrapObjects.filter(({ kind }) => kind.kind === "Namespace");
    this.namespaces = new Set([
      ...system.map(({ object }) => (object as { metadata: { name: string } }).metadata.name),
      ...namespaces.map(({ object }) => object.metadata["name"] as string),
    ]);
  }

  async load(objects: readonly ReadObject[]): Promise<void> {
    for (let at = 0; at < objects.length; at += parallel) {
      await Promise.all(objects.slice(at, at + parallel).map((each) => this.loadOne(each)));
    }
  }

  /** @throws StartError if anything was not loaded */
  end(directory: string, objects: number): void {
    const { length } = this.faults;
    if (length === 0) {
      this.context.options.logger.info(0, `Loaded ${objects} objects of ${directory}`);
      return;
    }
    const listed = this.faults.slice(0, maxFaults).map((fault) => `\n  ${fault}`);
    const more = length > maxFaults ? `\n  and ${length - maxFaults} more` : "";
    const { storage = { kind: "memory" } } = this.context.options;
    const rest =
      storage.kind === "memory"
        ? ""
        : "\nThe other objects are in the store: empty it before the next attempt.";
    throw new StartError(`${directory} cannot be loaded:${listed.join("")}${more}${rest}`);
  }

  private async loadOne({ file, object }: ReadObject): Promise<void> {
    const { name, namespace } = object.metadata;
    const label = `${file}: ${object.kind} ${[namespace, name].filter(Boolean).join("/")}`;
    try {
      await this.restore(label, object);
    } catch (error) {
      const unavailable: unknown = error;
      if (!(error instanceof StatusError) || isStoreUnavailable(unavailable)) throw error;
      this.faults.push(`${label}: ${error.message}`);
    }
  }

  private async restore(label: string, object: ReadObject["object"]): Promise<void> {
    const { catalog, options, registry, signal } = this.context;
    const { apiVersion, kind, metadata } = object;
    const resource = catalog.findKind(String(apiVersion), String(kind));
    if (resource === undefined) {
      this.faults.push(`${label}: the server has no kind ${kind} in ${apiVersion}`);
      return;
    }
    const namespace = this.namespaceOf(resource, metadata);
    if (namespace !== "" && !this.namespaces.has(namespace)) {
      this.faults.push(`${label}: its namespace does not exist`);
      return;
    }
    const request = loopbackRequest(resource, { namespace, name: metadata["name"] }, { signal });
    const body = { ...jsonBody({}), bytes: Buffer.from(printJson(object)) };
    const { warnings } = await registry.restore(request, body);
    for (const warning of warnings) options.logger.info(0, `${label}: ${warning}`);
  }

  private namespaceOf({ kind }: Resource, metadata: Readonly<Record<string, any>>): string {
    return kind.scope === "Cluster" ? "" : metadata["namespace"] || "default";
  }
}
