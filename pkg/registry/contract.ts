import type { Resource, Status } from "#meta";
import type { RequestNotes, User } from "#request";
import type { RepairReport } from "./allocation/repair.ts";
import type { ConnectRequest, Destination } from "./connect/destination.ts";

/**
 * What the server asks of the registry. Answers stay close to the stored bytes: the server copies
 * bytes when it can and parses only where someone must look inside.
 */
export interface Registry {
  get(target: Target, options: GetOptions): Promise<Item>;
  list(target: Target, options: ListOptions): Promise<ItemList>;
  /** As that of a `Collection`: what can be told without waiting. */
  isKnownEmpty(target: Pick<Target, "resource" | "namespace">): boolean;
  watch(target: Target, options: WatchOptions): AsyncIterable<ItemEvent>;
  /** As `watch`, for those who serve many: what comes together stays together. */
  watchBatches(target: Target, options: WatchOptions): AsyncIterableIterator<EventBatch>;
  create(target: Target, body: Body, options: WriteOptions): Promise<WriteAnswer>;
  update(target: Target, body: Body, options: WriteOptions): Promise<WriteAnswer>;
  patch(target: Target, body: Body, options: PatchOptions): Promise<WriteAnswer>;
  delete(target: Target, options: DeleteOptions): Promise<DeleteAnswer>;
  deleteCollection(target: Target, list: ListOptions, options: DeleteOptions): Promise<ItemList>;
  /** Where a stream leads (log, exec, attach, portforward, proxy); undefined for an empty log. */
  connect(target: Target, request: ConnectRequest): Promise<Destination | undefined>;
  /**
   * Mends what interrupted writes left of addresses and ports; to be called every few minutes.
   * Absent where services get none.
   */
  readonly repair?: () => Promise<RepairReport>;
}

/** What a request is about, and who asks. */
export interface Target {
  readonly resource: Resource;
  /** "" for cluster scope or all namespaces. */
  readonly namespace: string;
  /** "" for a collection. */
  readonly name: string;
  /** "" for the main resource. */
  readonly subresource: string;
  readonly user: User;
  readonly life: RequestLife;
  /** First part of the user agent, for managedFields. */
  readonly userAgent: string;
  /** Where what matters for the record of the request is noted; absent when nobody records it. */
  readonly notes?: RequestNotes | undefined;
}

/** How long whoever asks waits for the answer. */
export interface RequestLife {
  /**
   * Aborts when the client goes away or its time is up. Best made when somebody asks for it: most
   * requests end well, and an AbortSignal costs as much as a small read.
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
  /** Room for those who encode it; as shared as the item is. */
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
  /** Room for those who encode it; absent when the batch is for one watcher only. */
  readonly encoded: Map<string, Uint8Array> | undefined;
}

export interface ObjectEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly item: Item;
  /** Room for those who encode it, as shared as the event is. */
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
}

export interface GetOptions extends Own {
  /** As sent; "" = consistent. */
  readonly resourceVersion: string;
}

interface Own {
  /**
   * Without a version: not older than what this process has written, which needs no question to
   * the store. For the server itself; what others wrote may not be seen for an instant.
   */
  readonly own?: boolean;
}

export interface ListOptions extends Own {
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

export interface WriteAnswer {
  readonly item: Item;
  readonly created: boolean;
  /** For Warning headers, code 299. */
  readonly warnings: readonly string[];
}

/**
 * `item` where the object is answered (deletion waits, or the kind says so), else a Success Status.
 */
export type DeleteAnswer = (
  | { readonly item: Item /** Still there, waiting for finalizers. */; readonly pending: boolean }
  | { readonly status: Status }
) & {
  /** For Warning headers, code 299. */
  readonly warnings?: readonly string[];
};
