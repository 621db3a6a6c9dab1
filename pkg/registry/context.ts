import type { ResolveHost } from "./connect/global-addresses.ts";
import type { Clock, KeyedMutex, Random } from "#base";
import type { Catalog, HookContext } from "#meta";
import type { ObjectStore } from "#storage";
import type {
  ResourceRequest,
  AdmissionHandler,
  Allocator,
  ConvertObject,
  CreateHandler,
  ServiceNetwork,
} from "./contract.ts";
import type { Identities } from "./identities.ts";
import type { NamespaceCache } from "./admission/namespace-cache.ts";

export interface RegistryOptions {
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Source of uids, generated names and jitter; default: the operating system's. */
  readonly random?: Random;
  /** Whether containers may be privileged (`--allow-privileged`). */
  readonly allowPrivileged?: boolean;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** Encoding of stored values; both encodings can always be read. */
  readonly storageMediaType: "json" | "protobuf";
  /** Lifetime of an Event after its last write (`--event-ttl`). */
  readonly eventTtlSeconds: number;
  /**
   * Shortest lifetime in ms of a watch without timeoutSeconds (`--min-request-timeout`); it ends
   * after up to twice as long.
   */
  readonly minRequestTimeoutMs: number;
  /** Root of the keys in error messages; default `/registry`. */
  readonly storageRoot?: string;
  /** Mutating admission, in order. */
  readonly mutating?: readonly AdmissionHandler[];
  /** Validating admission, in order. */
  readonly validating?: readonly AdmissionHandler[];
  /** Ranges of service addresses and node ports; absent = none are allocated. */
  readonly serviceNetwork?: ServiceNetwork;
  /** Handlers of creates that are not stored, by key prefix of the kind and subresource. */
  readonly createHandlers?: ReadonlyMap<string, CreateHandler>;
  /** Whether controllers run in this process, whose health is then theirs (ComponentStatus). */
  readonly runsControllers?: boolean;
  /** As `runsControllers`, for the scheduler. */
  readonly runsScheduler?: boolean;
  /** Resolves node names for proxies; default: the operating system's resolver. */
  readonly resolveHost?: ResolveHost;
  /** Types of node addresses for connections to kubelets (`--kubelet-preferred-address-types`). */
  readonly kubeletAddressTypes?: readonly string[];
}

/** Dependencies of all verbs. */
export interface RegistryContext {
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  /** Kinds that are only bodies of subresources, such as Scale. */
  readonly subresourceKinds: Catalog;
  readonly clock: Clock;
  /** The current time in RFC 3339 with whole seconds, as metav1.Time. */
  readonly timestamp: () => string;
  readonly identities: Identities;
  readonly allowPrivileged?: boolean;
  readonly gates: (name: string) => boolean;
  readonly storageMediaType: "json" | "protobuf";
  readonly eventTtlSeconds: number;
  readonly minRequestTimeoutMs: number;
  readonly storageRoot: string;
  readonly namespaces: NamespaceCache;
  /** Serializes concurrent writers of one key. */
  readonly mutex: KeyedMutex;
  readonly mutating: readonly AdmissionHandler[];
  readonly validating: readonly AdmissionHandler[];
  /** Allocators of addresses and ports, by key prefix of the kind. */
  readonly allocators: ReadonlyMap<string, Allocator>;
  /** Families of the addresses of services, the preferred one first. */
  readonly ipFamilies: readonly string[];
  readonly createHandlers: ReadonlyMap<string, CreateHandler>;
  /** Decoded objects of entries that were not read yet, by key. */
  readonly adopted: Map<string, any>;
  readonly runsControllers?: boolean;
  readonly runsScheduler?: boolean;
  readonly resolveHost?: ResolveHost;
  readonly kubeletAddressTypes?: readonly string[];
  /** Present within `withConvertedObjects`, for kinds that a webhook converts. */
  readonly convertObject?: ConvertObject;
}

/** The context of the kind's hooks; their warnings are added to `warnings`. */
export function hookContext(
  registry: RegistryContext,
  request: Pick<ResourceRequest, "resource" | "subresource"> &
    Partial<Pick<ResourceRequest, "user">>,
  warnings?: string[],
): HookContext {
  const { resource } = request;
  return {
    now: registry.clock.now(),
    gate: registry.gates,
    domain: registry.catalog.domain,
    ipFamilies: registry.ipFamilies,
    allowPrivileged: registry.allowPrivileged ?? false,
    requestGroup: resource.group,
    requestVersion: resource.version,
    subresource: request.subresource,
    user: request.user,
    warn: warnings && ((text) => void warnings.push(text)),
  };
}
