import type { Infer, Problems, StructType } from "#schema";
import type { NameRule } from "../object/names.ts";

/**
 * The declaration of a kind. Files of pkg/api declare the built-in ones; CustomResourceDefinitions are
 * compiled to it at run time. Group names and label keys are templates (`coordination.{api}`, see
 * domain.ts), which the catalog resolves.
 */
export interface Kind<Hub = any> {
  /** Template of the API group; "" is the core group. */
  readonly group: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: "Cluster" | "Namespaced";
  /** Verbs served; discovery lists them sorted. */
  readonly verbs: readonly Verb[];
  /**
   * Every version that can be served, in order of preference; exactly one is the hub, the stored
   * one.
   */
  readonly versions: readonly KindVersion<Hub>[];
  /** Versions that are not served, but in which other servers may have stored objects. */
  readonly readableVersions?: readonly ReadableVersion<Hub>[];
  /** Removed versions; request bodies in them are rejected. */
  readonly formerVersions?: readonly string[];
  /** Key prefix below `/registry/`, without slashes at the ends: `services/specs`. Template. */
  readonly storagePrefix: string;
  readonly subresources: readonly Subresource[];
  readonly rules: KindRules;
  readonly hooks: KindHooks<Hub>;
  readonly columns: readonly Column[];
  /** Cells of a table row, one per column; `now` in milliseconds for ages. */
  readonly row: (object: Hub, context: RowContext) => readonly Cell[];
  /** Conditions of the object's table row, such as Completed of a pod. */
  readonly rowConditions?: (object: Hub) => readonly RowCondition[];
  /** Order of the rows of a Table; absent = that of the list. */
  readonly rowOrder?: (left: Hub, right: Hub) => number;
  /**
   * Selectable fields beside metadata.name and metadata.namespace: label -> value of the object.
   */
  readonly selectableFields: Readonly<Record<string, (object: Hub) => string>>;
  /** Present for custom resources. */
  readonly custom?: CustomKind;
}

/**
 * Additional fields of a custom resource. Each served version is a separate kind with that version as
 * hub, as all properties may differ between versions; the other versions are used for conversion.
 */
export interface CustomKind {
  /** Whether the definition is terminating, so that creates are rejected; evaluated on each access. */
  readonly terminating: boolean;
  /** The storage version. */
  readonly storageVersion: string;
  /** Identifies the compiled definition across processes. */
  readonly fingerprint: string;
  /** Conversion webhook; absent = by the versions' `convert`. */
  readonly conversion?: ObjectConversion;
}

/** Conversion of objects by a webhook. */
export interface ObjectConversion {
  /**
   * JSON objects of one custom resource, in the version that each names, in the version
   * `apiVersion`. Throws StatusError.
   */
  convert(
    objects: readonly Readonly<Record<string, unknown>>[],
    apiVersion: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export type Verb =
  | "create"
  | "delete"
  | "deletecollection"
  | "get"
  | "list"
  | "patch"
  | "update"
  | "watch";

export interface KindVersion<Hub = any> {
  /** Template; absent = the kind's group. Event is served in two groups. */
  readonly group?: string;
  readonly version: string;
  readonly struct: StructType<any>;
  /** Whether the version is served by default, without `--runtime-config`. */
  readonly onByDefault: boolean;
  /** Feature gate that the version requires, in addition to `--runtime-config`. */
  readonly gate?: string;
  /** "hub" for the hub version; else pure functions to and from the hub. */
  readonly convert: "hub" | { readonly up: (object: any) => Hub; readonly down: (hub: Hub) => any };
  /** Selectable fields of this version if they differ from the kind's. */
  readonly selectableFields?: Readonly<Record<string, (object: Hub) => string>>;
  /** Warning header of all responses of a deprecated version. Template. */
  readonly deprecationWarning?: string;
  /**
   * Field-path prefixes and rules may differ per version: validation runs on the hub unless given
   * here.
   */
  readonly validate?: (object: any, problems: Problems, context: HookContext) => void;
}

/** A version that can only be converted to the hub. */
export interface ReadableVersion<Hub = any> {
  readonly version: string;
  readonly struct: StructType<any>;
  readonly up: (object: any) => Hub;
}

export interface Subresource {
  /** `status`, `scale`, `finalize`… */
  readonly name: string;
  readonly verbs: readonly ("get" | "update" | "patch" | "create" | "delete")[];
  /** Group, version and kind in discovery if they differ from the parent's. */
  readonly represents?: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    /** What its bodies look like. */
    readonly struct?: StructType<any>;
  };
  /**
   * How it connects the client with a process elsewhere: a stream (exec), or a proxy of requests
   * with any method and path. Absent: it reads and writes objects.
   */
  readonly connects?: "stream" | "proxy";
  /** Answers text instead of an object (the log of a pod). */
  readonly isText?: boolean;
  /** The struct whose fields are the query parameters. */
  readonly options?: StructType<any>;
  /** Paths of the replica counts that `scale` reads and writes. */
  readonly scale?: ScaleAccess;
}

/** Accessors of the scale subresource for objects in hub form. */
export interface ScaleAccess<Hub = any> {
  readonly get: (object: Hub) => {
    /** Wanted. */
    readonly replicas: number;
    /** Observed, from the status. */
    readonly observed: number;
    /** Label selector of the pods as text; "" for none. */
    readonly selector: string;
  };
  /** Changes the object in place. */
  readonly set: (object: Hub, replicas: number) => void;
  /** Why there is nothing to show of an object that has no number yet; undefined if there is. */
  readonly missing?: (object: Hub) => string | undefined;
  /** The object's own validation judges the number. */
  readonly checksItself?: boolean;
  /** Where the number is, in dots; absent: `spec.replicas`. */
  readonly path?: string;
}

/** Validations of metadata: of the object, or of its change by an update. */
export type MetadataCheck = "object" | "change";

/** Options of a kind, which Kubernetes has in the REST strategy. */
export interface KindRules {
  /** Which names are valid; see meta/names.ts. */
  readonly name: NameRule;
  /** Which names a new object may have while the feature gate is on. */
  readonly relaxedName?: { readonly gate: string; readonly name: NameRule };
  /** generateName becomes the name as it is, without a random suffix. */
  readonly unchangedGenerateName?: boolean;
  /** PUT to a missing name creates. */
  readonly createOnUpdate: boolean;
  /** PUT without a resourceVersion is taken. */
  readonly unconditionalUpdate: boolean;
  /**
   * metadata.generation starts at 1 and moves when anything outside metadata and status changes. `exact`:
   * an empty list or map differs from an absent one (reflect.DeepEqual in Kubernetes' strategy).
   */
  readonly generation: boolean | "exact";
  /** DELETE answers the deleted object rather than a Status. */
  readonly deleteReturnsObject: boolean;
  /** OpenAPI has a Status as the answer to DELETE, although the object is returned. */
  readonly deletePublishesStatus?: boolean;
  /**
   * Propagation when the client names none: `background` for most, `orphan` for
   * ReplicationController and Job.
   */
  readonly defaultPropagation: "background" | "orphan";
  /** Warning for clients that delete without a propagation policy. */
  readonly deletionWarning?: string;
  /**
   * metadata.finalizers may be cleared while being created in a terminating namespace… only Event
   * may be created there.
   */
  readonly allowedInTerminatingNamespace: boolean;
  /**
   * Fields that an endpoint ("" for the main one) resets to their stored values, as dotted paths: a
   * write through it does not own them. Absent: the main one `status`, the status subresource
   * `spec`. Source: GetResetFields of Kubernetes' strategies.
   */
  readonly resets?: Readonly<Record<string, readonly string[]>>;
  /**
   * Whether an object lives only for `--event-ttl` unless written again (Events). kube-apiserver has no
   * watch cache of them.
   */
  readonly expires: boolean;
  /**
   * The checks of metadata that an update of this kind makes after those of every kind, by
   * subresource ("" for the main one): each cause is reported as often as it is found. Where
   * nothing is said, `["change"]`. Source: ValidateUpdate of Kubernetes' strategies.
   */
  readonly metadataOnUpdate?: Readonly<Record<string, readonly MetadataCheck[]>>;
  /**
   * New objects' metadata is checked only by the rules of every kind, and only if no other field is
   * invalid. Source: strategies whose Validate does not check it, and rest.BeforeCreate.
   */
  readonly metadataLastOnCreate?: boolean;
  /** Finalizers without a slash need not be standard ones. */
  readonly freeFinalizers?: boolean;
  /** How errors about unsupported field selectors name the kind; absent = not at all. */
  readonly namedInFieldFaults?: "kind" | "groupVersionKind";
  /** Made up on every read; nothing is stored. */
  readonly computed?: boolean;
  /**
   * An annotation that stands for a field of old versions: objects reduced to their metadata go
   * without it, as in Kubernetes, where it is a field inside the server.
   */
  readonly fieldAnnotation?: string;
}

/** Context of hooks: time and options, no I/O. */
export interface HookContext {
  readonly now: number;
  readonly gate: (name: string) => boolean;
  readonly domain: { readonly api: string; readonly label: string };
  /** The group and version that the client spoke. */
  readonly requestGroup: string;
  readonly requestVersion: string;
  /** "" for the main resource. */
  readonly subresource: string;
  /** User who writes; absent where a stored object is read. */
  readonly user?:
    | {
        readonly name: string;
        readonly uid: string;
        readonly groups: readonly string[];
        readonly extra: ReadonlyMap<string, readonly string[]>;
      }
    | undefined;
  /** Families of the cluster's service addresses, the preferred one first; absent = IPv4. */
  readonly ipFamilies?: readonly string[];
  /**
   * Tells the client of something, whether the write succeeds or not; absent where no client reads
   * warnings.
   */
  readonly warn?: ((warning: string) => void) | undefined;
  /** Containers may ask for all rights of the host (`--allow-privileged`); absent = no. */
  readonly allowPrivileged?: boolean;
}

/**
 * Pure functions on defaulted objects in hub form. Only `default` and `prepare*` may modify them.
 */
export interface KindHooks<Hub = any> {
  /**
   * Defaults that depend on other fields; runs after the fields' own defaults, on decode of client
   * input and stored values alike.
   */
  readonly default?: (object: Hub, context: HookContext) => void;
  /**
   * Clear what the client must not set (status, immutable bookkeeping), derive what the server
   * sets.
   */
  readonly prepareCreate?: (object: Hub, context: HookContext) => void;
  /** The error of Kubernetes' conversion of a client's object to its internal version. */
  readonly conversionFault?: (object: Hub) => string | undefined;
  readonly prepareUpdate?: (object: Hub, old: Hub, context: HookContext) => void;
  /**
   * Sets defaults that readers of the stored object see, but validation does not, as they depend on what
   * the hooks above have set.
   */
  readonly prepareStored?: (object: Hub) => void;
  /**
   * Rules beyond the fields' own; spec first, in Kubernetes' order. ObjectMeta is checked by the
   * registry before this.
   */
  readonly validate?: (object: Hub, problems: Problems, context: HookContext) => void;
  /**
   * Replaces `validate` on updates, of subresources too, and calls it where Kubernetes does.
   * Absent: `validate` also runs on updates of the main resource.
   */
  readonly validateUpdate?: (
    object: Hub,
    old: Hub,
    problems: Problems,
    context: HookContext,
  ) => void;
  /**
   * Of kinds that go gracefully: the seconds that the object has left, from what the client asks
   * for. Kinds without it go at once.
   */
  readonly gracePeriod?: (object: Hub, asked: number | undefined) => number;
  /**
   * Of kinds whose first deletion only marks them: what is done to the object beside that, such as
   * a finalizer of the kind's own. `now` is an RFC 3339 time.
   */
  readonly markDeleting?: (
    object: Hub,
    moment: { readonly api: string; readonly now: string },
  ) => void;
  /**
   * Warnings about objects to be created, before `prepareCreate`; sent even if these are refused.
   */
  readonly earlyWarnings?: (object: Hub, context: HookContext) => readonly string[];
  readonly warnings?: (
    object: Hub,
    old: Hub | undefined,
    context: HookContext,
  ) => readonly string[];
}

/** A table column; `format` is "name" for the first; columns with `priority` > 0 require `-o wide`. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export type Cell = string | number | bigint | boolean | null;

export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface RowContext {
  readonly now: number;
}

const allVerbs: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

const commonRules: KindRules = {
  name: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: true,
  generation: false,
  deleteReturnsObject: false,
  defaultPropagation: "background",
  allowedInTerminatingNamespace: false,
  expires: false,
};

/** Declaration of a kind in pkg/api; optional fields have defaults. */
export interface KindDeclaration<Hub> extends Pick<
  Kind<Hub>,
  "group" | "kind" | "plural" | "scope" | "versions" | "columns" | "row"
> {
  readonly listKind?: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs?: readonly Verb[];
  readonly storagePrefix?: string;
  readonly readableVersions?: readonly ReadableVersion<Hub>[];
  readonly formerVersions?: readonly string[];
  readonly subresources?: readonly Subresource[];
  readonly rules?: Partial<KindRules>;
  readonly hooks?: KindHooks<Hub>;
  readonly rowConditions?: (object: Hub) => readonly RowCondition[];
  readonly rowOrder?: (left: Hub, right: Hub) => number;
  readonly selectableFields?: Readonly<Record<string, (object: Hub) => string>>;
  readonly custom?: CustomKind;
}

/** Declares a kind; `hub` determines the type of the objects in hooks, columns and selectors. */
export function kind<S extends StructType<any>>(
  _hub: S,
  declaration: KindDeclaration<Infer<S>>,
): Kind<Infer<S>> {
  return {
    listKind: `${declaration.kind}List`,
    singular: declaration.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    verbs: allVerbs,
    storagePrefix: declaration.plural,
    subresources: [],
    hooks: {},
    selectableFields: {},
    ...declaration,
    rules: { ...commonRules, ...declaration.rules },
  };
}
