/** Discovery of a group version as `apidiscovery/v2` has it, fields in Go's order. */
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
  /** Absent = none. */
  readonly resources?: readonly ResourceDiscovery[];
  /** "Stale" = the server that serves the version could not be asked. */
  readonly freshness: "Current" | "Stale";
}

/** Resources by group version, `metrics.k8s.io/v1beta1`. */
export type DiscoveredVersions = ReadonlyMap<string, readonly ResourceDiscovery[]>;

/** A group version that an APIService registers, as discovery documents need it. */
export interface RegisteredVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
  /** Absent = this server serves the version itself. */
  readonly remote?: VersionDiscovery;
}

/** All APIServices at a time; another value after each change. */
export interface DiscoverySnapshot {
  /** By group version. */
  readonly versions: ReadonlyMap<string, RegisteredVersion>;
}

/** For servers that aggregate no others. */
export const noApiServices: DiscoverySnapshot = { versions: new Map() };
