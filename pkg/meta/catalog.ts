import type { StructType } from "#schema";
import { type Domain, resolve } from "./domain.ts";
import type { Kind, KindVersion } from "./kind.ts";

/** One kind served in one group and version: what a path of the API leads to. */
export interface Resource {
  readonly kind: Kind;
  readonly served: KindVersion;
  /** Resolved group; "" is core. */
  readonly group: string;
  readonly version: string;
  /** `v1`, `coordination.k8s.io/v1`. */
  readonly groupVersion: string;
  readonly plural: string;
  readonly struct: StructType<any>;
  /** The stored group and version, and the struct of that. */
  readonly hub: {
    readonly group: string;
    readonly version: string;
    readonly groupVersion: string;
    readonly struct: StructType<any>;
  };
  /** Key prefix with slashes at both ends, below the storage root: `/configmaps/`. */
  readonly keyPrefix: string;
}

/** `group/version`, or the version alone in the core group. */
export function groupVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/**
 * The served resources, found by path parts and by kind. Immutable: custom resources will come as a
 * new catalog made from the old one.
 */
export class Catalog {
  readonly resources: readonly Resource[];
  private readonly byPath = new Map<string, Resource>();
  private readonly byKind = new Map<string, Resource>();

  /** `isServed` decides per group, version and plural (`--runtime-config`). */
  constructor(
    kinds: readonly Kind[],
    readonly domain: Domain,
    isServed: (groupVersion: string, plural: string, onByDefault: boolean) => boolean = (
      _groupVersion,
      _plural,
      onByDefault,
    ) => onByDefault,
  ) {
    this.resources = kinds.flatMap((kind) =>
      kind.versions
        .map((served) => resourceOf(kind, served, domain))
        .filter((r) => isServed(r.groupVersion, r.plural, r.served.onByDefault)),
    );
    for (const resource of this.resources) {
      this.byPath.set(`${resource.groupVersion}/${resource.plural}`, resource);
      this.byKind.set(`${resource.groupVersion}/${resource.kind.kind}`, resource);
    }
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.byPath.get(`${groupVersionOf(group, version)}/${plural}`);
  }
  findKind(groupVersion: string, kind: string): Resource | undefined {
    return this.byKind.get(`${groupVersion}/${kind}`);
  }
}

function resourceOf(kind: Kind, served: KindVersion, domain: Domain): Resource {
  const group = resolve(served.group ?? kind.group, domain);
  const hubVersion = kind.versions.find((v) => v.convert === "hub");
  if (hubVersion === undefined) throw new Error(`${kind.kind} has no hub version`);
  const hubGroup = resolve(hubVersion.group ?? kind.group, domain);
  return {
    kind,
    served: withResolvedWarning(served, domain),
    group,
    version: served.version,
    groupVersion: groupVersionOf(group, served.version),
    plural: kind.plural,
    struct: served.struct,
    hub: {
      group: hubGroup,
      version: hubVersion.version,
      groupVersion: groupVersionOf(hubGroup, hubVersion.version),
      struct: hubVersion.struct,
    },
    keyPrefix: `/${resolve(kind.storagePrefix, domain)}/`,
  };
}

function withResolvedWarning(served: KindVersion, domain: Domain): KindVersion {
  const { deprecationWarning: warning } = served;
  if (warning === undefined) return served;
  return { ...served, deprecationWarning: resolve(warning, domain) };
}
