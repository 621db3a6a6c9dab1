import type { Domain, Status } from "#meta";

/**
 * What programs ask of the API, whichever way it is reached. Objects are plain values shaped like
 * their JSON, without `apiVersion` and `kind`; they may be shared and are never to be changed.
 */
export interface Client {
  readonly domain: Domain;
  /** Everything that is served now. */
  discover(): Promise<Discovery>;
  /**
   * Calls the listener when the served resources change; returns the unsubscribe function. Absent =
   * there are no notifications, and callers have to poll discovery.
   */
  readonly onServed?: (listener: () => void) => () => void;
  get<T extends ApiObject>(resource: Handle<T>, at: Place, options?: GetOptions): Promise<T>;
  list<T extends ApiObject>(resource: Handle<T>, options?: ListOptions): Promise<Page<T>>;
  /**
   * Ends at the timeout, and when the signal aborts; throws when it cannot begin or the connection
   * breaks.
   */
  watch<T extends ApiObject>(
    resource: Handle<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>;
  /** The namespace is that of the object, and its name is who a subresource belongs to. */
  create<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /** Name, namespace and version are those of the object. */
  update<T extends ApiObject>(
    resource: Handle<T>,
    object: Draft<T>,
    options?: WriteOptions,
  ): Promise<T>;
  patch<T extends ApiObject>(resource: Handle<T>, at: Place, patch: Patch): Promise<T>;
  delete(resource: Handle, at: Place, options?: DeleteOptions): Promise<void>;
  /**
   * Reads a path with its query, for APIs whose paths are not those of resources, like
   * `/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*&#47;requests`. Answers the JSON value.
   */
  getRaw(path: string, options?: CallOptions): Promise<unknown>;
  /** Deletes what a namespace has of a resource. */
  deleteCollection(resource: Handle, at: Place, options?: DeleteOptions): Promise<void>;
}

/** What every object says about itself. */
export interface Metadata {
  readonly name: string;
  /** Absent in cluster scope. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  /** Int64, which is a bigint where objects come from the registry of the process. */
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

/** An object on its way to the server, which fills in the rest of its metadata. */
export type Draft<T extends ApiObject> = Omit<T, "metadata"> & {
  readonly metadata: Partial<Metadata> & { readonly generateName?: string };
};

/** A served resource, and the type of its objects. */
export interface Handle<T extends ApiObject = ApiObject> {
  /** "" = core. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never there: carries the type. */
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
  /** Group versions that could not be asked for, with the reason; `metrics.k8s.io/v1beta1`. */
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
  /** Aborts the call; absent = the life of the client. */
  readonly signal?: AbortSignal | undefined;
}

/** What a read may be told. */
interface Reading extends CallOptions {
  /** "" or absent = consistent, "0" = whatever a cache has. */
  readonly resourceVersion?: string;
}

export interface GetOptions extends Reading {
  /** The object comes with nothing but its metadata. */
  readonly metadataOnly?: boolean;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: string;
}

export type Patch = CallOptions & { readonly body: unknown } & (
    | { readonly type: "json" | "merge" | "strategic" }
    | {
        /** The body says what it is, by `apiVersion` and `kind`. */
        readonly type: "apply";
        readonly fieldManager: string;
        /** Takes fields from their owners. */
        readonly force?: boolean;
      }
  );

export interface DeleteOptions extends CallOptions {
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  /** Absent = what the object asks for; 0 = at once. */
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** What a list or watch is narrowed to; nothing = all objects of all namespaces. */
export interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects come with nothing but their metadata. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions extends Reading, Selection {
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  /** 0 or absent = all at once. */
  readonly limit?: number;
  readonly continueToken?: string;
}

export interface WatchOptions extends Reading, Selection {
  /** After the present objects comes a bookmark that says so. */
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
