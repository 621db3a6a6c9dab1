import type { JsonObject } from "#base";
import { groupVersionOf, type ObjectConversion, printJson, type Resource } from "#meta";
import { fromJson, parseJson, toJson } from "#schema";
import type { Change, Entry } from "#storage";

/** Limit of objects per ConversionReview. */
const maxObjects = 500;
/** Approximate limit of bytes per ConversionReview. */
const maxBytes = 2 ** 20;

/**
 * Converts entries of one collection to the version of `resource`. An entry of the cache is converted
 * once.
 */
export class ConvertedEntries {
  readonly #resource: Resource;
  readonly #conversion: ObjectConversion;
  /** Converted entries, by the stored entry. */
  readonly #converted = new WeakMap<Entry, Entry>();

  constructor(resource: Resource, conversion: ObjectConversion) {
    this.#resource = resource;
    this.#conversion = conversion;
  }

  async one(entry: Entry, signal: AbortSignal | undefined): Promise<Entry> {
    const [converted] = await this.all([entry], signal);
    return converted as Entry;
  }

  /** The converted entries in the same order. Throws StatusError if the webhook fails. */
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
      if (this.#converted.has(entry)) continue;
      // The reader of an undecodable entry reports the error.
      if (entry.encryption?.fault !== undefined || this.#hasVersion(entry.value)) {
        this.#converted.set(entry, entry);
        continue;
      }
      batch.push(entry);
      size += entry.value.byteLength;
      if (batch.length >= maxObjects || size >= maxBytes) await flush();
    }
    await flush();
    return entries.map((entry) => this.#converted.get(entry) as Entry);
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
      entry && this.#converted.get(entry);
    return changes.map((change) => ({
      ...change,
      entry: converted(change.entry),
      previous: converted(change.previous),
      derived: undefined,
    }));
  }

  /** Converts an object in the version of the resource to the storage version. */
  async stored(value: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { group, kind, groupVersion } = this.#resource;
    const storage = groupVersionOf(group, kind.custom?.storageVersion ?? "");
    if (storage === groupVersion) return value;
    const [converted] = await this.#conversion.convert([parseObject(value)], storage, signal);
    return encode(converted as JsonObject);
  }

  /** Whether the value is in the version of the resource, by its first bytes or parsed apiVersion. */
  #hasVersion(value: Uint8Array): boolean {
    const { kind, groupVersion } = this.#resource;
    const head = `{"kind":"${kind.kind}","apiVersion":"${groupVersion}"`;
    if (Buffer.from(value.subarray(0, head.length)).toString("latin1") === head) return true;
    return parseObject(value)["apiVersion"] === groupVersion;
  }

  async #convert(entries: readonly Entry[], signal: AbortSignal | undefined): Promise<void> {
    const { struct, groupVersion, kind } = this.#resource;
    const objects = entries.map(({ value }) => parseObject(value));
    const converted = await this.#conversion.convert(objects, groupVersion, signal);
    for (const [index, entry] of entries.entries()) {
      // In normal form, so that an unchanged update stores the same bytes.
      const object = fromJson(struct, converted[index], { root: true });
      const typeMeta = { kind: kind.kind, apiVersion: groupVersion };
      const value = Buffer.from(toJson(struct, object, typeMeta));
      const { derived: _derived, ...rest } = entry;
      const shared = "derived" in entry ? { derived: undefined } : {};
      this.#converted.set(entry, { ...rest, ...shared, value });
    }
  }
}

function parseObject(value: Uint8Array): JsonObject {
  return parseJson(value).value as JsonObject;
}

/** Encodes a converted object with kind, apiVersion and metadata first, like all stored objects. */
function encode({ kind, apiVersion, metadata, ...rest }: JsonObject): Uint8Array {
  return Buffer.from(printJson({ kind, apiVersion, metadata, ...rest }));
}
