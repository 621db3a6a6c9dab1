import type { DefinitionNames } from "#api";

type Owners = Map<string, Set<string>>;

/** Which definitions of a group have, or want, which names. */
export class NameClaims {
  readonly #names = new Map<string, DefinitionNames>();
  /** Plural, singular and short names, which share one space. */
  readonly #resources: Owners = new Map();
  /** Kinds, of objects and of lists. */
  readonly #kinds: Owners = new Map();

  get definitions(): Iterable<string> {
    return this.#names.keys();
  }
  get isEmpty(): boolean {
    return this.#names.size === 0;
  }

  /** The definition has these names instead of those before. */
  set(definition: string, names: DefinitionNames): void {
    this.delete(definition);
    this.#names.set(definition, names);
    for (const [owners, name] of this.#each(names)) {
      const known = owners.get(name);
      if (known === undefined) owners.set(name, new Set([definition]));
      else known.add(definition);
    }
  }

  delete(definition: string): void {
    const names = this.#names.get(definition);
    if (names === undefined) return;
    this.#names.delete(definition);
    for (const [owners, name] of this.#each(names)) {
      const known = owners.get(name);
      known?.delete(definition);
      if (known?.size === 0) owners.delete(name);
    }
  }

  ofResource(name: string): Iterable<string> {
    return this.#resources.get(name) ?? [];
  }
  ofKind(name: string): Iterable<string> {
    return this.#kinds.get(name) ?? [];
  }

  #each(names: DefinitionNames): readonly (readonly [Owners, string])[] {
    const { plural, singular, shortNames, kind, listKind } = names;
    const resources = [plural, singular, ...(shortNames ?? [])];
    return [
      ...resources.map((name) => [this.#resources, name ?? ""] as const),
      ...[kind, listKind].map((name) => [this.#kinds, name ?? ""] as const),
    ].filter(([, name]) => name !== "");
  }
}
