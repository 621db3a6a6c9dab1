/** Discovery of a group version: the types of `apidiscovery/v2`, fields in the order of Go's structs. */
interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface SubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind: GroupVersionKind;
  readonly acceptedTypes?: readonly GroupVersionKind[];
  readonly verbs: readonly string[];
}

export interface ResourceDiscovery {
  readonly resource: string;
  readonly responseKind: GroupVersionKind;
  readonly scope: string;
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly SubresourceDiscovery[];
}

export interface VersionDiscovery {
  readonly version: string;
  /** Absent for a group version without resources. */
  readonly resources?: readonly ResourceDiscovery[];
  /** "Stale": the last fetch from the server of this version failed. */
  readonly freshness: "Current" | "Stale";
}

/** Resources by group version, `metrics.k8s.io/v1beta1`. */
export type DiscoveredVersions = ReadonlyMap<string, readonly ResourceDiscovery[]>;

/** A group version that an APIService registers. */
export interface RegisteredVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
  /** Absent if this server serves the version. */
  readonly remote?: VersionDiscovery;
}

/** The registered group versions at one time; immutable. */
export interface DiscoverySnapshot {
  /** By group version. */
  readonly versions: ReadonlyMap<string, RegisteredVersion>;
}

/** Snapshot of a server without aggregation. */
export const noApiServices: DiscoverySnapshot = { versions: new Map() };
