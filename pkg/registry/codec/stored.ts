import {
  assert,
  assign,
  atOnce,
  CacheBudget,
  type Evictable,
  inTurns,
  memoize,
  type Slices,
} from "#base";
import type { Domain, HookContext, Resource } from "#meta";
import {
  badRequest,
  goQuote,
  groupVersionOf,
  internalError,
  isPathSegmentName,
  resolve,
  StatusError,
} from "#meta";
import {
  applyDefaults,
  fromJson,
  fromProtobuf,
  type ParsedJson,
  parseJson,
  parseJsonInSlices,
  toJsonInSlices,
  toProtobuf,
  unwrapEnvelope,
  wrapEnvelope,
} from "#schema";
import type { Entry } from "#storage";
import { StoreFault } from "#storage";
import type { Item, ResourceRequest } from "../contract.ts";
import { type RegistryContext, hookContext } from "../context.ts";
import { faultError } from "./faults.ts";
import { type Labels, labelsIn } from "../read/label-scan.ts";

/**
 * Encodes an object for the store: in the stored version, without resourceVersion and selfLink, as JSON
 * (`{"kind":..,"apiVersion":..,"metadata":..`) or in the `k8s\0` Protobuf envelope. Both forms can
 * always be decoded, and so can values of other API servers in another served version or key order.
 */
export function encodeStored(
  registry: RegistryContext,
  resource: Resource,
  object: any,
): Uint8Array {
  return atOnce(encodeStoredInSlices(registry, resource, object));
}

/** As `encodeStored`; custom resources are encoded in slices. */
export function* encodeStoredInSlices(
  registry: RegistryContext,
  resource: Resource,
  object: any,
): Slices<Uint8Array> {
  const { struct, groupVersion, convert } = resource.stored;
  const typeMeta = { kind: resource.kind.kind, apiVersion: groupVersion };
  const unversioned = withoutVersion(object);
  const stored = convert === "hub" ? unversioned : convert.down(unversioned);
  if (registry.storageMediaType === "protobuf" && struct.open === undefined) {
    return wrapEnvelope(typeMeta, toProtobuf(struct, stored));
  }
  const text = yield* toJsonInSlices(struct, stored, typeMeta);
  yield;
  return Buffer.from(text);
}

/** The object without resourceVersion and selfLink; not copied if it has neither. */
function withoutVersion(object: any): any {
  if (object.metadata.resourceVersion === undefined && object.metadata.selfLink === undefined) {
    return object;
  }
  const { resourceVersion: _version, selfLink: _link, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/**
 * Decodes a stored value into hub form, with defaults and resourceVersion. Throws StatusError 500 for a
 * corrupt value.
 */
function decodeStored(
  registry: RegistryContext,
  request: Addressed,
  entry: Pick<Entry, "key" | "value" | "modRevision">,
): any {
  const context = { ...hookContext(registry, request), subresource: "" };
  try {
    const object = parseStored(request.resource, entry.value, context);
    setResourceVersion(object, entry.modRevision);
    return object;
  } catch (fault) {
    throw corruptEntry(entry.key, fault);
  }
}

/** As `decodeStored`, in slices. */
function* decodeStoredInSlices(
  registry: RegistryContext,
  request: Addressed,
  entry: Pick<Entry, "key" | "value" | "modRevision">,
): Slices<any> {
  if (unwrapEnvelope(entry.value) !== undefined) return decodeStored(registry, request, entry);
  const context = { ...hookContext(registry, request), subresource: "" };
  try {
    const parsed = yield* parseJsonInSlices(entry.value);
    yield;
    const object = yield* decodeParsed(request.resource, parsed, context);
    setResourceVersion(object, entry.modRevision);
    yield;
    return object;
  } catch (fault) {
    throw corruptEntry(entry.key, fault);
  }
}

function corruptEntry(key: string, fault: unknown): unknown {
  if (fault instanceof StatusError) return fault;
  const message = `${key}: ${fault instanceof Error ? fault.message : String(fault)}`;
  return faultError(new StoreFault({ kind: "corrupt", message }));
}

function parseStored(resource: Resource, bytes: Uint8Array, context: HookContext): any {
  const envelope = unwrapEnvelope(bytes);
  if (envelope === undefined) return atOnce(decodeParsed(resource, parseJson(bytes), context));
  const version = storedVersion(resource, envelope.apiVersion, context.domain);
  return toHubVersion(resource, version, fromProtobuf(version.struct, envelope.raw), context);
}

function* decodeParsed(
  resource: Resource,
  { value, literals = false }: ParsedJson,
  context: HookContext,
): Slices<any> {
  const { apiVersion = "" } = value as { readonly apiVersion?: string };
  const version = storedVersion(resource, apiVersion, context.domain);
  const { struct } = version;
  const object = fromJson(struct, value, { root: true, literals, unpruned: true });
  yield;
  if (struct.open !== undefined) yield* struct.open.prune(object, undefined);
  return toHubVersion(resource, version, object, context);
}

interface StoredVersion {
  readonly struct: Resource["served"]["struct"];
  /** Absent = it is the hub. */
  readonly up?: (object: any) => any;
}

/** The version in which a value was stored; the hub if it names no known version of the kind. */
function storedVersion(resource: Resource, apiVersion: string, domain: Domain): StoredVersion {
  const { struct, groupVersion } = resource.hub;
  if (apiVersion === "" || apiVersion === groupVersion) return { struct };
  const { group: ownGroup, versions, readableVersions = [] } = resource.kind;
  const named = versions.find(
    (v) => groupVersionOf(resolve(v.group ?? ownGroup, domain), v.version) === apiVersion,
  );
  if (named !== undefined) {
    return { struct: named.struct, ...(named.convert === "hub" ? {} : { up: named.convert.up }) };
  }
  const group = resolve(ownGroup, domain);
  const readable = readableVersions.find((v) => groupVersionOf(group, v.version) === apiVersion);
  return readable ?? { struct };
}

/** Applies defaults and converts to the hub version. */
function toHubVersion(
  resource: Resource,
  from: StoredVersion,
  object: any,
  context: HookContext,
): any {
  applyDefaults(from.struct, object);
  const hub = from.up === undefined ? object : from.up(object);
  resource.kind.hooks.default?.(hub, context);
  return hub;
}

/** Sets metadata.resourceVersion; revision 0 (a dry run) deletes it. */
export function setResourceVersion(object: any, revision: number): void {
  if (revision > 0) assign(object.metadata, "resourceVersion", String(revision));
  else delete object.metadata.resourceVersion;
}

/** The error of a list or watch that includes a value that cannot be decrypted. */
export function untransformable(
  registry: RegistryContext,
  { keyPrefix }: Resource,
  { key, encryption }: Pick<Entry, "key" | "encryption">,
): StatusError {
  const storedKey = registry.store.collection(keyPrefix).prefix + key.slice(keyPrefix.length);
  return internalError(`unable to transform key ${goQuote(storedKey)}: ${encryption?.fault}`);
}

/** False for a value that cannot be decrypted: what would return it fails. */
export function isReadable({ encryption }: Pick<Entry, "encryption">): boolean {
  return encryption?.fault === undefined;
}

/** The part of a request that the decoder needs. */
type Addressed = Pick<ResourceRequest, "resource" | "subresource">;

const addressed = memoize((resource: Resource): Addressed => ({ resource, subresource: "" }));

type SharedEntry = Pick<Entry, "key" | "value" | "modRevision" | "encryption" | "derived">;

interface KnownState {
  /** The revision of a deletion, which differs from the entry's. */
  readonly revision?: number;
  /** The object as it is decoded from the entry, with its resourceVersion. */
  readonly object?: any;
  /** Whether the entry was encoded from the object, so that its bytes are the object's JSON. */
  readonly isEncoded?: boolean;
  /** An item of the same entry in another version of the kind. */
  readonly other?: StoredItem | undefined;
}

/** Bytes of an object that takes longer than some milliseconds to decode. */
const largeBytes = 64 * 1024;

/** Approximate limit in bytes of the decoded objects of cached entries. */
const maxDecodedBytes = 32 * 2 ** 20;
/** Approximate size of a decoded object, as a multiple of its encoding. */
const objectFactor = 3;
const decodedOf = memoize((_registry: RegistryContext) => new CacheBudget(maxDecodedBytes));

/** An entry of the store, decoded once, when a reader needs the object. */
export class StoredItem implements Item, Evictable {
  readonly revision: number;
  encoded: unknown = undefined;
  readonly other: StoredItem | undefined;
  readonly isEncoded: boolean;
  #object: any;
  #labels: Labels | undefined;
  #fields: Map<string, string> | undefined;

  constructor(
    private readonly registry: RegistryContext,
    private readonly request: Addressed,
    private readonly entry: Pick<Entry, "key" | "value" | "modRevision" | "encryption">,
    known: KnownState = {},
  ) {
    this.revision = known.revision ?? entry.modRevision;
    this.#object = known.object;
    this.isEncoded = known.isEncoded === true;
    this.other = known.other;
  }

  /**
   * The item that all readers of a cached entry share, so that it is decoded once. An entry outside of
   * the cache has no shared item: each call returns a new one.
   */
  static shared(registry: RegistryContext, resource: Resource, entry: SharedEntry): StoredItem {
    const first = entry.derived as StoredItem | undefined;
    for (let item = first; item !== undefined; item = item.other) {
      if (item.request.resource === resource) return item;
    }
    // A kind has few versions. The bound drops items of replaced CustomResourceDefinitions.
    const other = first?.other?.other === undefined ? first : undefined;
    const request = addressed(resource);
    const item = new StoredItem(registry, request, entry, { other });
    if ("derived" in entry) entry.derived = item;
    return item;
  }

  /** Shares an object that was just written as `entry` with the readers of the entry. */
  static written(
    registry: RegistryContext,
    { resource }: Addressed,
    entry: SharedEntry,
    object: any,
  ): StoredItem {
    const item = StoredItem.shared(registry, resource, entry);
    if (item.#object === undefined) {
      item.#object = object;
      decodedOf(registry).add(item, entry.value.byteLength * objectFactor);
    }
    return item;
  }

  /** The shared item of a cached entry; a new item for an entry read from the store. */
  static of(registry: RegistryContext, request: Addressed, entry: Entry): StoredItem {
    return "derived" in entry
      ? StoredItem.shared(registry, request.resource, entry)
      : new StoredItem(registry, request, entry);
  }

  get resource(): Resource {
    return this.request.resource;
  }
  get key(): string {
    return this.entry.key;
  }
  get bytes(): Uint8Array {
    this.#checkReadable();
    return this.entry.value;
  }
  get object(): any {
    this.#object ??= this.#decode();
    return this.#object;
  }
  get labels(): Labels {
    if (this.#labels !== undefined) return this.#labels;
    if (this.#object !== undefined) return this.#object.metadata.labels ?? {};
    this.#labels = labelsIn(this.entry.value) ?? this.object.metadata.labels ?? {};
    return this.#labels!;
  }
  /**
   * The value of a selectable field, cached: the lists of a thousand kubelets by spec.nodeName decode
   * each pod once.
   */
  field(name: string, read: (object: any) => string): string {
    const known = this.#fields?.get(name);
    if (known !== undefined) return known;
    const value = read(this.object);
    this.#fields ??= new Map();
    this.#fields.set(name, value);
    return value;
  }
  /** Drops the decoded object, which can be decoded again from the bytes. */
  evict(): void {
    this.#object = undefined;
  }
  /** The item with the revision of its deletion as resourceVersion; it is decoded separately. */
  deletedAt(revision: number): StoredItem {
    return new StoredItem(this.registry, this.request, this.entry, { revision });
  }
  #checkReadable(): void {
    const fault = this.entry.encryption?.fault;
    if (fault !== undefined) throw internalError(fault);
  }
  /** Decodes a large object in turns with other requests; undefined for others, and for one at hand. */
  decodeAhead(): Promise<void> | undefined {
    if (this.#object !== undefined || this.entry.value.byteLength <= largeBytes) return undefined;
    return this.#decodeInTurns();
  }
  async #decodeInTurns(): Promise<void> {
    this.#checkReadable();
    const decoded = this.#decodedElsewhere();
    if (decoded !== undefined) return;
    const { key, value } = this.entry;
    const entry = { key, value, modRevision: this.revision };
    this.#object =
      this.#adopted() ?? (await inTurns(decodeStoredInSlices(this.registry, this.request, entry)));
    this.#keepDecoded();
  }
  #decode(): any {
    this.#checkReadable();
    const decoded = this.#decodedElsewhere();
    if (decoded !== undefined) return decoded;
    const { key, value } = this.entry;
    const entry = { key, value, modRevision: this.revision };
    const object = this.#adopted() ?? decodeStored(this.registry, this.request, entry);
    this.#keepDecoded();
    return object;
  }
  /** The object as another version of the kind has decoded it. */
  #decodedElsewhere(): any {
    const { resource } = this.request;
    for (let { other } = this; other !== undefined; other = other.other) {
      if (other.#object !== undefined && other.resource.kind === resource.kind) {
        return other.#object;
      }
    }
    return undefined;
  }
  #keepDecoded(): void {
    if ((this.entry as Entry).derived === undefined) return;
    decodedOf(this.registry).add(this, this.entry.value.byteLength * objectFactor);
  }
  /** Each object is taken once: from then on it is kept, or decoded again, as all others. */
  #adopted(): any {
    const { adopted } = this.registry;
    const { key } = this.entry;
    const object = adopted.size === 0 ? undefined : adopted.get(key);
    if (object === undefined) return undefined;
    adopted.delete(key);
    return object.metadata.resourceVersion === String(this.revision) ? object : undefined;
  }
}

/**
 * The key of the request's object; `name` if it was generated. Throws 400 for a name that is not a path
 * segment, for every kind: a key must not leave its collection.
 */
export function storageKey(request: ResourceRequest, name: string = request.name): string {
  if (name === "") throw badRequest("Name parameter required.");
  const faults = isPathSegmentName(name);
  if (faults.length > 0) {
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${faults.join(";")}`);
  }
  return collectionPrefix(request) + name;
}

/** The prefix of all keys of the request's collection. */
export function collectionPrefix({
  resource,
  namespace,
}: Pick<ResourceRequest, "resource" | "namespace">): string {
  assert(!namespace.includes("/"), "a namespace is one part of a path");
  return namespace === "" ? resource.keyPrefix : `${resource.keyPrefix}${namespace}/`;
}
