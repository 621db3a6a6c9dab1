import type { JsonObject } from "#base";
import type { HookContext, Resource, Status } from "#meta";
import type { RequestNotes, User } from "#request";
import type { CachedSize } from "#storage";
import type { ConnectRequest, Destination } from "./connect/destination.ts";

/**
 * The verbs of all kinds, below HTTP. Results stay close to the stored bytes: the server copies bytes
 * and decodes an object only if a step needs it.
 */
export interface Registry {
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  get(request: ResourceRequest, options: GetOptions): Promise<Item>;
  /**
   * The cached object, without waiting; undefined unless the cache has it and contains all writes of
   * this process to the collection.
   */
  cached(request: ResourceRequest): Item | undefined;
  list(request: ResourceRequest, options: ListOptions): Promise<ItemList>;
  /** Whether the cache knows, without waiting, that the collection is empty. */
  isKnownEmpty(request: Pick<ResourceRequest, "resource" | "namespace">): boolean;
  /** Size of a collection in the cache; undefined until the cache is filled. */
  cachedSize(request: Pick<ResourceRequest, "resource" | "namespace">): CachedSize | undefined;
  watch(request: ResourceRequest, options: WatchOptions): AsyncIterable<ItemEvent>;
  /** As `watch`, in batches: events that arrive together are delivered and encoded together. */
  watchBatches(request: ResourceRequest, options: WatchOptions): AsyncIterableIterator<EventBatch>;
  create(request: ResourceRequest, body: Body, options: WriteOptions): Promise<WriteResponse>;
  /**
   * Stores an object of another cluster with its uid, times, status and managedFields, without
   * admission and allocation. Throws 422 for an invalid object and 409 if the name is taken.
   */
  restore(request: ResourceRequest, body: Body): Promise<WriteResponse>;
  /**
   * Takes decoded objects, in hub form with their resourceVersion, by the keys of entries that were
   * stored as copies of others: readers of these entries need not decode them.
   */
  adopt(objects: ReadonlyMap<string, any>): void;
  update(request: ResourceRequest, body: Body, options: WriteOptions): Promise<WriteResponse>;
  patch(request: ResourceRequest, body: Body, options: PatchOptions): Promise<WriteResponse>;
  delete(request: ResourceRequest, options: DeleteOptions): Promise<DeleteResponse>;
  deleteCollection(
    request: ResourceRequest,
    list: ListOptions,
    options: DeleteOptions,
  ): Promise<ItemList>;
  /** The destination of log, exec, attach, portforward or proxy; undefined for an empty log. */
  connect(
    request: ResourceRequest,
    connectRequest: ConnectRequest,
  ): Promise<Destination | undefined>;
  /**
   * The admission plugin NamespaceLifecycle, over the registry's namespace cache. Its place in the
   * order of admission is in pkg/admission/order.ts.
   */
  readonly namespaceLifecycle: AdmissionHandler;
  /**
   * Reclaims service addresses and ports that interrupted writes leaked; to be called every few
   * minutes. Absent without a service network.
   */
  readonly repair?: () => Promise<RepairReport>;
}

/** The object or collection that a request addresses, and its user. */
export interface ResourceRequest {
  readonly resource: Resource;
  /** "" for cluster scope or all namespaces. */
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
  /** "" for the main resource. */
  readonly subresource: string;
  readonly user: User;
  readonly context: RequestContext;
  /** First part of the user agent, for managedFields. */
  readonly userAgent: string;
  /** Collects what the audit log records of the request; absent when it is not audited. */
  readonly notes?: RequestNotes | undefined;
}

/** Lifetime of the request: aborted when the client disconnects or the deadline passes. */
export interface RequestContext {
  /**
   * Implementations create it on first use: most requests end without an abort, and an AbortSignal
   * costs as much as a small read.
   */
  readonly signal: AbortSignal;
}

/** A stored object: the bytes in the store, decoded on demand. */
export interface Item {
  readonly resource: Resource;
  readonly key: string;
  readonly bytes: Uint8Array;
  /** Becomes metadata.resourceVersion; 0 = none (a dry run). */
  readonly revision: number;
  /** The object in hub form with resourceVersion set; shared, never to be changed. */
  readonly object: any;
  /** The bytes were encoded from the object, by its schema of now. */
  readonly isEncoded?: boolean;
  /** Cache of the response encoders. */
  encoded?: unknown;
}

export interface ItemList {
  /** Delivered in order; the server writes one while the next is fetched. */
  readonly items: AsyncIterable<Item>;
  /** The same items in chunks. Only one of the two may be iterated, once. */
  readonly chunks: AsyncIterable<readonly Item[]>;
  readonly revision: number;
  /** The position of the next page; undefined if the list is complete. */
  readonly next:
    | { readonly continueToken: string; readonly remaining: number | undefined }
    | undefined;
}

/** Events that are sent together; one object for all watchers with equal selectors. */
export interface EventBatch {
  readonly events: readonly ItemEvent[];
  /** Cache of the response encoders; absent if the batch has one watcher only. */
  readonly encoded: Map<string, Uint8Array> | undefined;
  /** When the oldest of the changes was committed, as `performance.now()`; absent if unknown. */
  readonly committedAt?: number | undefined;
}

export interface ObjectEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly item: Item;
  /** Cache of the response encoders. */
  encoded?: unknown;
}

export type ItemEvent =
  | ObjectEvent
  | {
      readonly type: "BOOKMARK";
      readonly revision: number;
      /** End of the initial events. */
      readonly initialEventsEnd: boolean;
    }
  | { readonly type: "ERROR"; readonly status: Status };

type BodyFormat = "json" | "yaml" | "protobuf" | "cbor";

export interface Body {
  readonly bytes: Uint8Array;
  readonly format: BodyFormat;
  /** Limit of the total weight of list elements and map entries; default `requestBounds.weight`. */
  readonly maxWeight?: number;
}

export interface GetOptions extends ReadConsistency {
  /** As sent; "" = consistent. */
  readonly resourceVersion: string;
}

interface ReadConsistency {
  /**
   * Without a resourceVersion: a cached state that contains all writes of this process, without a read
   * of the store. For the server's own reads; writes of other replicas may not be visible yet.
   */
  readonly ownWrites?: boolean;
}

export interface ListOptions extends ReadConsistency {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continueToken: string;
  /** Only for watches: a list with it is rejected. */
  readonly sendInitialEvents?: boolean | undefined;
}

export interface WatchOptions extends ListOptions {
  readonly allowBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
  /** Called once, when the initial events or the changes since resourceVersion are delivered. */
  readonly initialized?: (() => void) | undefined;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  /** Effect of unknown and duplicate fields: 400, warnings, or none. */
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
}

export interface PatchOptions extends WriteOptions {
  readonly patchType: "json" | "merge" | "strategic" | "apply";
  readonly force: boolean | undefined;
}

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: "Orphan" | "Background" | "Foreground" | undefined;
  readonly orphanDependents: boolean | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  /** Deletes an object whose stored value cannot be read, without finalizers and grace period. */
  readonly ignoreReadError?: boolean;
}

export interface WriteResponse {
  readonly item: Item;
  readonly created: boolean;
  /** For Warning headers, code 299. */
  readonly warnings: readonly string[];
}

/**
 * `item` where the response is the object (deletion waits, or the kind says so), else a Success Status;
 * `pending` when the object still exists, waiting for finalizers.
 */
export type DeleteResponse = (
  | { readonly item: Item; readonly pending: boolean }
  | { readonly status: Status }
) & {
  /** For Warning headers, code 299. */
  readonly warnings?: readonly string[];
};

/** One write as admission sees it. Objects are in hub form. */
export interface AdmissionAttributes {
  readonly request: ResourceRequest;
  readonly operation: "create" | "update" | "delete" | "connect";
  /** Deletion of a collection: `request` names the object, but the client did not. */
  readonly ofCollection?: boolean;
  readonly dryRun: boolean;
  /**
   * The object to be written, which mutating handlers change in place; undefined for a delete; for a
   * connect, its options as JSON.
   */
  readonly object: any;
  /** The stored object with its resourceVersion, read-only; undefined for a create. */
  readonly old: any;
  /** The kind of the object, if a subresource takes another than its parent's. */
  readonly bodyResource?: Resource;
  /** The options of the client; absent for subresources without options. */
  readonly options?: OperationOptions | undefined;
}

/** The options of a request as JSON, without an apiVersion. */
export interface OperationOptions {
  readonly kind: "CreateOptions" | "UpdateOptions" | "DeleteOptions";
  readonly [field: string]: unknown;
}

/**
 * A step of admission: resolves to warnings for the client, or rejects with the StatusError of the
 * request. Returns undefined if it does not apply, which is by far the most frequent case.
 */
export type AdmissionHandler = (
  attributes: AdmissionAttributes,
) => Promise<readonly string[]> | undefined;

/** Addresses and ports that are reserved for a write until it succeeds or fails. */
export interface Reservation {
  /** After a successful write: releases what the object no longer uses. */
  commit(): Promise<void>;
  /** After a failed write: releases what was reserved for it. */
  cancel(): Promise<void>;
}

/** Allocates the addresses and ports of the objects of one kind. */
export interface Allocator {
  /**
   * Reserves what the object needs beyond what the old one holds and sets it in the object; a dry run
   * sets it without a reservation. Throws a StatusError if a range is full or a requested value taken.
   */
  reserve(attributes: AdmissionAttributes): Promise<Reservation>;
  /** Releases all allocations of a deleted object. */
  release(request: ResourceRequest, object: any): Promise<void>;
}

/** Converts an object to a version; throws to restart the work once the webhook has converted it. */
export type ConvertObject = (object: JsonObject, apiVersion: string) => JsonObject;

/** A create that is not stored, such as a SubjectAccessReview or TokenRequest. */
export interface VirtualCreate {
  readonly request: ResourceRequest;
  /** The object of the client in hub form with defaults; may be changed. */
  readonly object: any;
  readonly dryRun: boolean;
  readonly context: HookContext;
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void;
}

/** Handler of a kind that is created without being stored, such as a review. */
export interface CreateHandler {
  /** The kind of the body, if it is not that of the path: `TokenRequest`. */
  readonly bodyKind?: { readonly groupVersion: string; readonly kind: string };
  /** Returns the object with its status, or throws a StatusError. */
  readonly handle: (create: VirtualCreate) => Promise<any>;
}

/** Ranges of service addresses and node ports. */
export interface ServiceNetwork {
  /** CIDRs such as `10.0.0.0/24`, at most one of each IP family, the preferred family first. */
  readonly cidrs: readonly string[];
  readonly nodePorts: PortRange;
}

/** The result of one run of the repair loop. */
export interface RepairReport {
  /** Allocated without a service; released. */
  readonly leakedAddresses: readonly string[];
  readonly leakedPorts: readonly number[];
  /** Used by a service without an allocation; allocated. */
  readonly missingAddresses: readonly string[];
  readonly missingPorts: readonly number[];
  /** Used by a service but allocated to another owner; needs an operator. */
  readonly conflicts: readonly string[];
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}
