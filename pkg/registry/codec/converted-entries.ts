import type { JsonObject } from "#base";
import { groupVersionOf, type ObjectConversion, printJson, type Resource } from "#meta";
import { fromJson, parseJson, toJson } from "#schema";
import type { Change, Entry } from "#storage";

/** Objects go to the webhook so many at a time, and about so many bytes. */
const mostObjects = 500;
const mostBytes = 2 ** 20;

/**
 * Entries of one collection in the version of `resource`, whatever version they are stored in. An
 * entry of the cache is converted once.
 */
export class ConvertedEntries {
  readonly #resource: Resource;
  readonly #conversion: ObjectConversion;
  /** By the stored entry. */
  readonly #known = new WeakMap<Entry, Entry>();

  constructor(resource: Resource, conversion: ObjectConversion) {
    this.#resource = resource;
    this.#conversion = conversion;
  }

  async one(entry: Entry, signal: AbortSignal | undefined): Promise<Entry> {
    const [converted] = await this.all([entry], signal);
    return converted as Entry;
  }

  /** In the same order. Throws StatusError when the webhook fails. */
  async all(entries: readonly Entry[], signal: AbortSignal | undefined): Promise<readonly Entry[]> {
    let batch: Entry[] = [];
    let size = 0;
    const flush = async (): Promise<void> => {
      const sent = batch;
      batch = [];
      size = 0;
      if (sent.length > 0) await this.#convert(sent, signal);
    };
    for (const entry of entries) {
      if (this.#known.has(entry)) continue;
      // The reader of an undecodable entry reports the error.
      if (entry.encryption?.fault !== undefined || this.#isOwn(entry.value)) {
        this.#known.set(entry, entry);
        continue;
      }
      batch.push(entry);
      size += entry.value.byteLength;
      if (batch.length >= mostObjects || size >= mostBytes) await flush();
    }
    await flush();
    return entries.map((entry) => this.#known.get(entry) as Entry);
  }

  async changes(
    changes: readonly Change[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Change[]> {
    const entries = changes.flatMap(({ entry, previous }) => [entry, previous]);
    await this.all(
      entries.filter((entry) => entry !== undefined),
      signal,
    );
    const converted = (entry: Entry | undefined): Entry | undefined =>
      entry && this.#known.get(entry);
    return changes.map((change) => ({
      ...change,
      entry: converted(change.entry),
      previous: converted(change.previous),
      derived: undefined,
    }));
  }

  /** What is to be stored of an object in the version of the resource. */
  async stored(value: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { group, kind, groupVersion } = this.#resource;
    const storage = groupVersionOf(group, kind.custom?.storageVersion ?? "");
    if (storage === groupVersion) return value;
    const [converted] = await this.#conversion.convert([objectIn(value)], storage, signal);
    return bytesOf(converted as JsonObject);
  }

  /** Whether the value is already in this version, by its first bytes or by its parsed apiVersion. */
  #isOwn(value: Uint8Array): boolean {
    const { kind, groupVersion } = this.#resource;
    const head = `{"kind":"${kind.kind}","apiVersion":"${groupVersion}"`;
    if (Buffer.from(value.subarray(0, head.length)).toString("latin1") === head) return true;
    return objectIn(value)["apiVersion"] === groupVersion;
  }

  async #convert(entries: readonly Entry[], signal: AbortSignal | undefined): Promise<void> {
    const { struct, groupVersion, kind } = this.#resource;
    const objects = entries.map(({ value }) => objectIn(value));
    const converted = await this.#conversion.convert(objects, groupVersion, signal);
    for (const [index, entry] of entries.entries()) {
      // In normal form, so that writing the object as it is changes nothing.
      const object = fromJson(struct, converted[index], { root: true });
      const typeMeta = { kind: kind.kind, apiVersion: groupVersion };
      const value = Buffer.from(toJson(struct, object, typeMeta));
      const { derived: _derived, ...rest } = entry;
      const shared = "derived" in entry ? { derived: undefined } : {};
      this.#known.set(entry, { ...rest, ...shared, value });
    }
  }
}

function objectIn(value: Uint8Array): JsonObject {
  return parseJson(value).value as JsonObject;
}

/** Kind, version and metadata first, as all stored objects have them. */
function bytesOf({ kind, apiVersion, metadata, ...rest }: JsonObject): Uint8Array {
  return Buffer.from(printJson({ kind, apiVersion, metadata, ...rest }));
}
