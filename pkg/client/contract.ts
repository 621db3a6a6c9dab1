import type { Domain, Status } from "#meta";

/**
 * A client of the Kubernetes API. Objects are plain values shaped like their JSON, without `apiVersion`
 * and `kind`; they may be shared and must not be modified.
 */
export interface Client {
  readonly domain: Domain;
  /** The currently served resources. */
  discover(): Promise<Discovery>;
  /**
   * Calls the listener when the served resources change; returns the unsubscribe function. Absent if
   * unsupported: callers must poll discovery.
   */
  readonly onServed?: (listener: () => void) => () => void;
  get<T extends ApiObject>(resource: Handle<T>, at: Place, options?: GetOptions): Promise<T>;
  list<T extends ApiObject>(resource: Handle<T>, options?: ListOptions): Promise<Page<T>>;
  /**
   * Ends at the timeout or when the signal aborts; throws if the watch cannot start or the connection
   * fails.
   */
  watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>;
  /** The namespace is that of the object; for a subresource, the name is, too. */
  create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /** Name, namespace and resourceVersion are those of the object. */
  update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T>;
  patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T>;
  delete(resource: Handle, at: Place, options?: DeleteOptions): Promise<void>;
  /**
   * Reads a path with query and returns the JSON value, for APIs whose paths are not those of resources,
   * such as `/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*&#47;requests`.
   */
  getRaw(path: string, options?: CallOptions): Promise<unknown>;
  /** Deletes all objects of a resource in a namespace. */
  deleteCollection(resource: Handle, at: Place, options?: DeleteOptions): Promise<void>;
}

/** ObjectMeta, without managedFields. */
export interface Metadata {
  readonly name: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  /** Int64: a bigint in objects of the in-process registry. */
  readonly deletionGracePeriodSeconds?: number | bigint;
  readonly generation?: number | bigint;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ApiObject {
  readonly metadata: Metadata;
}

/** An object to create or update, with partial metadata. */
export type Draft<T extends ApiObject> = Omit<T, "metadata"> & {
  readonly metadata: Partial<Metadata> & { readonly generateName?: string };
};

/** Identifies a served resource and the type of its objects. */
export interface Handle<T extends ApiObject = ApiObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Phantom property for type inference; never set. */
  readonly objects?: T;
}

export interface DiscoveredResource extends Handle {
  readonly verbs: readonly string[];
  /** Names: `status`, `scale`. */
  readonly subresources: readonly string[];
}

export interface Discovery {
  /** Resources without subresources; those in the preferred version of their group come first. */
  readonly resources: readonly DiscoveredResource[];
  /** Error messages by group version (`metrics.k8s.io/v1beta1`) whose discovery failed. */
  readonly failures: ReadonlyMap<string, string>;
}

export interface Place {
  /** Absent or "" for cluster scope. */
  readonly namespace?: string;
  /** Name of the object; absent for collections. */
  readonly name?: string;
  readonly subresource?: string;
}

export interface CallOptions {
  /** Aborts the call; absent = the client's signal. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of reads. */
interface ReadOptions extends CallOptions {
  /** "" or absent = consistent read, "0" = any version from a cache. */
  readonly resourceVersion?: string;
}

export interface GetOptions extends ReadOptions {
  /** Requests PartialObjectMetadata. */
  readonly metadataOnly?: boolean;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: string;
}

export type Patch = CallOptions & { readonly body: unknown } & (
    | { readonly type: "json" | "merge" | "strategic" }
    | {
        /** The body must have `apiVersion` and `kind`. */
        readonly type: "apply";
        readonly fieldManager: string;
        /** Takes over fields from other managers. */
        readonly force?: boolean;
      }
  );

export interface DeleteOptions extends CallOptions {
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  /** Absent = the object's default; 0 = immediately. */
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Restricts a list or watch; empty = all objects of all namespaces. */
export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Requests PartialObjectMetadata. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions extends ReadOptions, Selection {
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** Page size; 0 or absent = unlimited. */
  readonly limit?: number;
  readonly continueToken?: string;
}

export interface WatchOptions extends ReadOptions, Selection {
  /** Streams the existing objects, then a bookmark with `initialEventsEnd`. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

export interface Page<T extends ApiObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** "" on the last page. */
  readonly continueToken: string;
}

export type WatchEvent<T extends ApiObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | {
      readonly type: "BOOKMARK";
      readonly resourceVersion: string;
      readonly initialEventsEnd: boolean;
    }
  | { readonly type: "ERROR"; readonly status: Status };
