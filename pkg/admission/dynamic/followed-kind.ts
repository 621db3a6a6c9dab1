import { type ApiObject, followStored, type ReflectorSink } from "#client";
import { resolve } from "#meta";
import type { ServerAccess } from "#registry";

/** Stored configurations of one kind, sorted by name. */
export class FollowedKind<T extends ApiObject> {
  readonly #objects = new Map<string, T>();
  #sorted: readonly T[] | undefined;

  constructor(
    private readonly plural: string,
    /** Versions in order of preference. */
    private readonly versions: readonly string[],
  ) {}

  /** All configurations; the same array until a change. */
  get all(): readonly T[] {
    this.#sorted ??= [...this.#objects.values()].sort((left, right) =>
      left.metadata.name < right.metadata.name ? -1 : 1,
    );
    return this.#sorted;
  }

  /** Watches until the signal aborts; resolves when the stored objects are known. */
  async follow(access: ServerAccess): Promise<void> {
    const { catalog } = access;
    const group = resolve("admissionregistration.{api}", catalog.domain);
    const resource = this.versions
      .map((version) => catalog.find(group, version, this.plural))
      .find((found) => found !== undefined);
    if (resource !== undefined) await followStored(resource, this.#sink, access).ready;
  }

  get #sink(): ReflectorSink<T> {
    return {
      replaced: (all) => {
        this.#objects.clear();
        for (const object of all) this.#objects.set(object.metadata.name, object);
        this.#sorted = undefined;
      },
      changed: (type, object) => {
        if (type === "DELETED") this.#objects.delete(object.metadata.name);
        else this.#objects.set(object.metadata.name, object);
        this.#sorted = undefined;
      },
    };
  }
}
