import type { JsonObject } from "#base";
import type { HookContext, Resource, Status } from "#meta";
import type { RequestNotes, User } from "#request";
import type { CachedSize } from "#storage";
import type { ConnectRequest, Destination } from "./connect/destination.ts";

/**
 * What the server asks of the registry. Answers stay close to the stored bytes: the server copies
 * bytes when it can and parses only where someone must look inside.
 */
export interface Registry {
  get(request: ResourceRequest, options: GetOptions): Promise<Item>;
  /**
   * The object as the cache shows it, without waiting; undefined unless the cache has it and
   * everything that this process wrote to the collection.
   */
  cached(request: ResourceRequest): Item | undefined;
  list(request: ResourceRequest, options: ListOptions): Promise<ItemList>;
  /** Whether the cache knows, without waiting, that the collection is empty. */
  isKnownEmpty(request: Pick<ResourceRequest, "resource" | "namespace">): boolean;
  /** Size of a collection in the cache; undefined while the cache is not filled. */
  cachedSize(request: Pick<ResourceRequest, "resource" | "namespace">): CachedSize | undefined;
  watch(request: ResourceRequest, options: WatchOptions): AsyncIterable<ItemEvent>;
  /** As `watch`, in batches: events that arrive together are delivered and encoded together. */
  watchBatches(request: ResourceRequest, options: WatchOptions): AsyncIterableIterator<EventBatch>;
  create(request: ResourceRequest, body: Body, options: WriteOptions): Promise<WriteResponse>;
  /**
   * Stores an object as another cluster had it, with its uid, times, status and managedFields. No
   * admission runs and nothing is allocated. Throws a StatusError for an object that is not valid,
   * and for a name that is taken.
   */
  restore(request: ResourceRequest, body: Body): Promise<WriteResponse>;
  update(request: ResourceRequest, body: Body, options: WriteOptions): Promise<WriteResponse>;
  patch(request: ResourceRequest, body: Body, options: PatchOptions): Promise<WriteResponse>;
  delete(request: ResourceRequest, options: DeleteOptions): Promise<DeleteResponse>;
  deleteCollection(
    request: ResourceRequest,
    list: ListOptions,
    options: DeleteOptions,
  ): Promise<ItemList>;
  /** Where a stream leads (log, exec, attach, portforward, proxy); undefined for an empty log. */
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

/** A stored object: its bytes as they lie in the store, parsed on demand. */
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
  /** Cache of the encoders, shared with the item. */
  encoded?: unknown;
}

export interface ItemList {
  /** Delivered in order; the server writes one while the next is fetched. */
  readonly items: AsyncIterable<Item>;
  /** The same, many at a time. Either may be walked once. */
  readonly chunks: AsyncIterable<readonly Item[]>;
  readonly revision: number;
  /** Known when the first item is asked for; undefined when the list is complete. */
  readonly next:
    | { readonly continueToken: string; readonly remaining: number | undefined }
    | undefined;
}

/** Events that reach a watcher together; one object for all watchers that see the same. */
export interface EventBatch {
  readonly events: readonly ItemEvent[];
  /** Cache of the encoders; absent when the batch has one watcher only. */
  readonly encoded: Map<string, Uint8Array> | undefined;
  /** When the oldest of the changes was committed, as `performance.now()`; absent if unknown. */
  readonly committedAt?: number | undefined;
}

export interface ObjectEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly item: Item;
  /** Cache of the encoders, shared with the event. */
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
  /** Bounds what list elements and map entries weigh; default `requestBounds.weight`. */
  readonly maxWeight?: number;
}

export interface GetOptions extends ReadConsistency {
  /** As sent; "" = consistent. */
  readonly resourceVersion: string;
}

interface ReadConsistency {
  /**
   * Without a version: not older than what this process has written, which needs no question to
   * the store. For the server itself; what others wrote may not be seen for an instant.
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
  /** Sent to a plain list it is refused. */
  readonly sendInitialEvents?: boolean | undefined;
}

export interface WatchOptions extends ListOptions {
  readonly allowBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
  /** Called once when the initial events, or the past changes, have been delivered. */
  readonly initialized?: (() => void) | undefined;
}

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  /** Strict: 400 on unknown or duplicate fields; Warn: warnings; Ignore: silence. */
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
  /** An object whose stored value cannot be read goes at once, whatever would wait for it. */
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
   * What would be written; undefined for a deletion; of a stream, what is asked of it as JSON.
   * Mutating steps may change it in place.
   */
  readonly object: any;
  /** What is there now, with its resourceVersion; undefined for a creation. Not to be changed. */
  readonly old: any;
  /** The kind of the object where a subresource takes another than its parent's. */
  readonly bodyResource?: Resource;
  /** As the client gave them; absent where a subresource has none of its own. */
  readonly options?: OperationOptions | undefined;
}

/** The options of a request as JSON, without an apiVersion. */
export interface OperationOptions {
  readonly kind: "CreateOptions" | "UpdateOptions" | "DeleteOptions";
  readonly [field: string]: unknown;
}

/**
 * A step of admission: answers warnings for the client, or rejects with a StatusError to refuse.
 * Most steps have nothing to do with most writes, and say so at once: undefined.
 */
export type AdmissionHandler = (
  attributes: AdmissionAttributes,
) => Promise<readonly string[]> | undefined;

/** What a write took outside its object (addresses, ports) while its end is not known. */
export interface Reservation {
  /** After a successful write: releases what the object no longer uses. */
  commit(): Promise<void>;
  /** After a failed write: releases what was reserved for it. */
  cancel(): Promise<void>;
}

/** Hands out what objects of one kind need beside themselves. */
export interface Allocator {
  /**
   * Takes what the object needs beyond what the old one holds and writes it into the object; a dry
   * run chooses without taking. Throws a StatusError when there is nothing left, or not that.
   */
  reserve(attributes: AdmissionAttributes): Promise<Reservation>;
  /** Releases all allocations of a deleted object. */
  release(request: ResourceRequest, object: any): Promise<void>;
}

/** An object in another version; what is not known yet ends the work that asks for it. */
export type ConvertObject = (object: JsonObject, apiVersion: string) => JsonObject;

/** A POST whose object is answered and never stored: a review, or a request for a token. */
export interface VirtualCreate {
  readonly request: ResourceRequest;
  /** What the client sent, in hub form and defaulted; may be changed. */
  readonly object: any;
  readonly dryRun: boolean;
  readonly context: HookContext;
  /** Tells the client something beside the answer. */
  readonly warn: (text: string) => void;
}

/** Handler of a kind that is created without being stored, such as a review. */
export interface CreateHandler {
  /** The kind of bodies where it is not that of the path: `TokenRequest`. */
  readonly bodyKind?: { readonly groupVersion: string; readonly kind: string };
  /** Answers the object with what was asked for, or throws a StatusError. */
  readonly handle: (question: VirtualCreate) => Promise<any>;
}

/** Where services get their addresses and node ports from. */
export interface ServiceNetwork {
  /** Networks in the form `10.0.0.0/24`, the preferred family first; at most one of each. */
  readonly cidrs: readonly string[];
  readonly nodePorts: PortRange;
}

/** What a round found and mended. */
export interface RepairReport {
  /** Released: no service had them. */
  readonly leakedAddresses: readonly string[];
  readonly leakedPorts: readonly number[];
  /** Taken for services that had them without their being taken. */
  readonly missingAddresses: readonly string[];
  readonly missingPorts: readonly number[];
  /** Used by a service but allocated to another owner; needs an operator. */
  readonly conflicts: readonly string[];
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}
