import { type ApiObject, followStored, type ReflectorSink } from "#client";
import { resolve } from "#meta";
import type { ServerAccess } from "#registry";

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
