import type { StructType } from "#schema";
import { type Domain, resolve } from "./domain.ts";
import type { Kind, KindVersion } from "./kind.ts";

/** A kind in one served group version. */
export interface Resource {
  readonly kind: Kind;
  readonly served: KindVersion;
  /** Resolved group; "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** `v1`, `coordination.k8s.io/v1`. */
  readonly groupVersion: string;
  readonly plural: string;
  readonly struct: StructType<any>;
  /** Group, version and struct of the hub. */
  readonly hub: {
    readonly group: string;
    readonly version: string;
    readonly groupVersion: string;
    readonly struct: StructType<any>;
  };
  /** The storage version: the hub, except for custom resources with another storage version. */
  readonly stored: KindVersion & { readonly groupVersion: string };
  /** Key prefix with slashes at both ends, below the storage root: `/configmaps/`. */
  readonly keyPrefix: string;
}

/** `group/version`, or the version alone in the core group. */
export function groupVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** What discovery and OpenAPI publish beside the resources themselves. */
export interface Publishing {
  /** Enumerated values of built-in kinds in OpenAPI. */
  readonly enums: boolean;
  /** `storageVersionHash` in lists of resources. */
  readonly storageVersionHashes: boolean;
}

const everything: Publishing = { enums: true, storageVersionHashes: true };

/**
 * The served resources by path and by kind: the built-in ones, and custom resources, which are added and
 * removed per definition. Look-ups take constant time. Resources and the arrays of groups are immutable,
 * so that derived data can be cached by them: a change of one group does not replace those of others.
 */
export class Catalog {
  #publishing = everything;
  readonly #byPath = new Map<string, Resource>();
  readonly #byKind = new Map<string, Resource>();
  readonly #byGroup = new Map<string, readonly Resource[]>();
  /** Custom resources by the name of their definition. */
  readonly #custom = new Map<string, readonly Resource[]>();
  readonly #leaving = new Map<Resource, Set<() => void>>();
  readonly #listeners = new Set<() => void>();
  #all: readonly Resource[] | undefined;
  #content: object = {};

  /** `isServed` decides per resource (`--runtime-config`, `--feature-gates`). */
  constructor(
    kinds: readonly Kind[],
    readonly domain: Domain,
    isServed: (resource: Resource) => boolean = ({ served }) => served.onByDefault,
  ) {
    const resources = kinds.flatMap((kind) =>
      kind.versions.map((served) => resourceOf(kind, served, domain)).filter(isServed),
    );
    const groups = new Map<string, Resource[]>();
    for (const resource of resources) {
      this.#enter(resource);
      const group = groups.get(resource.group);
      if (group === undefined) groups.set(resource.group, [resource]);
      else group.push(resource);
    }
    for (const [name, group] of groups) this.#byGroup.set(name, group);
  }

  /** Creates a catalog that shares the built-in resources, without custom resources. */
  builtin(): Catalog {
    const copy = new Catalog([], this.domain);
    copy.#publishing = this.#publishing;
    for (const [name, group] of this.#byGroup) {
      const builtin = group.filter(({ kind }) => kind.custom === undefined);
      if (builtin.length === 0) continue;
      copy.#byGroup.set(name, builtin.length === group.length ? group : builtin);
      for (const resource of builtin) copy.#enter(resource);
    }
    return copy;
  }

  get publishing(): Publishing {
    return this.#publishing;
  }
  /** Must be called before the first document of the catalog is requested. */
  publish(publishing: Publishing): this {
    this.#publishing = publishing;
    return this;
  }
  get resources(): readonly Resource[] {
    this.#all ??= [...this.#byGroup.values()].flat();
    return this.#all;
  }
  /** An object that is replaced on every change, as a cache key for data derived from all resources. */
  get content(): object {
    return this.#content;
  }
  get groups(): Iterable<string> {
    return this.#byGroup.keys();
  }
  /** The resources of a group; the array is replaced only if the group changes. Empty if not served. */
  inGroup(group: string): readonly Resource[] {
    return this.#byGroup.get(group) ?? none;
  }
  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPath.get(`${groupVersionOf(group, version)}/${plural}`);
  }
  findKind(groupVersion: string, kind: string): Resource | undefined {
    return this.#byKind.get(`${groupVersion}/${kind}`);
  }
  /** Whether the resource is currently served. */
  serves(resource: Resource): boolean {
    return this.#byPath.get(pathOf(resource)) === resource;
  }

  /**
   * From now on the definition serves these resources, in one group, instead of those before; none
   * = it serves nothing. A built-in resource is never replaced.
   */
  define(definition: string, resources: readonly Resource[]): void {
    const before = this.#custom.get(definition) ?? none;
    if (before.length + resources.length === 0) return;
    for (const resource of before) this.#remove(resource);
    const entered = resources.filter(({ group, version, plural }) => {
      return this.find(group, version, plural) === undefined;
    });
    for (const resource of entered) this.#enter(resource);
    if (entered.length === 0) this.#custom.delete(definition);
    else this.#custom.set(definition, entered);
    const [{ group } = { group: "" }] = [...before, ...entered];
    const gone = new Set(before);
    const members = [...this.inGroup(group).filter((each) => !gone.has(each)), ...entered];
    if (members.length === 0) this.#byGroup.delete(group);
    else this.#byGroup.set(group, members);
    this.#all = undefined;
    this.#content = {};
    for (const resource of before) this.#tellLeaving(resource);
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listener once the resource is removed; returns the unsubscribe function. */
  whenGone(resource: Resource, listener: () => void): () => void {
    // Built-in resources are never removed, and have many watchers.
    if (resource.kind.custom === undefined) return () => undefined;
    const listeners = this.#leaving.get(resource) ?? new Set();
    this.#leaving.set(resource, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#leaving.get(resource) === listeners) {
        this.#leaving.delete(resource);
      }
    };
  }

  /** Calls the listener after every change; returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #enter(resource: Resource): void {
    this.#byPath.set(pathOf(resource), resource);
    this.#byKind.set(kindOf(resource), resource);
  }

  #remove(resource: Resource): void {
    this.#byPath.delete(pathOf(resource));
    this.#byKind.delete(kindOf(resource));
  }

  #tellLeaving(resource: Resource): void {
    const listeners = this.#leaving.get(resource);
    this.#leaving.delete(resource);
    for (const listener of listeners ?? []) listener();
  }
}

const none: readonly Resource[] = [];

function pathOf({ groupVersion, plural }: Resource): string {
  return `${groupVersion}/${plural}`;
}

function kindOf({ groupVersion, kind }: Resource): string {
  return `${groupVersion}/${kind.kind}`;
}

export function resourceOf(kind: Kind, served: KindVersion, domain: Domain): Resource {
  const group = resolve(served.group ?? kind.group, domain);
  const hubVersion = kind.versions.find((v) => v.convert === "hub");
  if (hubVersion === undefined) throw new Error(`${kind.kind} has no hub version`);
  const hubGroup = resolve(hubVersion.group ?? kind.group, domain);
  // With a conversion webhook, the store converts: all other code sees the hub version.
  const { storageVersion, conversion } = kind.custom ?? {};
  const storedVersion = conversion === undefined ? storageVersion : undefined;
  const stored = kind.versions.find((v) => v.version === storedVersion) ?? hubVersion;
  return {
    kind,
    served: kind.custom === undefined ? withResolvedWarning(served, domain) : served,
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
    stored: { ...stored, groupVersion: groupVersionOf(hubGroup, stored.version) },
    keyPrefix: `/${resolve(kind.storagePrefix, domain)}/`,
  };
}

function withResolvedWarning(served: KindVersion, domain: Domain): KindVersion {
  const { deprecationWarning: warning } = served;
  if (warning === undefined) return served;
  return { ...served, deprecationWarning: resolve(warning, domain) };
}
