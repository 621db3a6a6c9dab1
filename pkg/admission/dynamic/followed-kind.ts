import { type Clock, cryptoRandom } from "#base";
import { type ApiObject, reflect, RegistryClient } from "#client";
import { type Catalog, resolve } from "#meta";
import type { Registry } from "#registry";

export interface FollowOptions {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Told of a watch that broke and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
}

/** Who follows, to the registry. */
const follower = {
  name: "system:apiserver",
  uid: "",
  groups: ["system:masters", "system:authenticated"],
  extra: new Map<string, readonly string[]>(),
};

/** The configurations of one kind as they are stored, sorted by name. */
export class FollowedKind<T extends ApiObject> {
  readonly #objects = new Map<string, T>();
  #sorted: readonly T[] | undefined;

  constructor(
    private readonly plural: string,
    /** In order of preference. */
    private readonly versions: readonly string[],
  ) {}

  /** The same array until something changes. */
  get all(): readonly T[] {
    this.#sorted ??= [...this.#objects.values()].sort((left, right) =>
      left.metadata.name < right.metadata.name ? -1 : 1,
    );
    return this.#sorted;
  }

  /** Goes on until the signal aborts; resolves once what is stored now is known. */
  async follow(options: FollowOptions): Promise<void> {
    const { catalog, signal, registry } = options;
    const group = resolve("admissionregistration.{api}", catalog.domain);
    const resource = this.versions
      .map((version) => catalog.find(group, version, this.plural))
      .find((found) => found !== undefined);
    if (resource === undefined) return;
    const { version, plural, kind } = resource;
    const who = { user: follower, userAgent: "kube-apiserver" };
    const client = new RegistryClient({ ...who, registry, catalog, signal });
    await new Promise<void>((synced) => {
      const sink = {
        replaced: (all: readonly T[]) => {
          this.#objects.clear();
          for (const object of all) this.#objects.set(object.metadata.name, object);
          this.#sorted = undefined;
          synced();
        },
        changed: (type: string, object: T) => {
          if (type === "DELETED") this.#objects.delete(object.metadata.name);
          else this.#objects.set(object.metadata.name, object);
          this.#sorted = undefined;
        },
      };
      const handle = { group, version, plural, kind: kind.kind, namespaced: false };
      const following = reflect({
        ...options,
        client,
        resource: handle,
        sink,
        random: cryptoRandom,
      });
      void following.then(synced);
    });
  }
}
