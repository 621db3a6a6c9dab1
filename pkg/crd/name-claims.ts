import type { DefinitionNames } from "#api";

type Claimants = Map<string, Set<string>>;

/** Index of the names that the definitions of a group have accepted or requested. */
export class NameClaims {
  readonly #names = new Map<string, DefinitionNames>();
  /** Plural, singular and short names, which share a namespace. */
  readonly #resources: Claimants = new Map();
  /** Kinds and list kinds. */
  readonly #kinds: Claimants = new Map();

  get definitions(): Iterable<string> {
    return this.#names.keys();
  }
  get isEmpty(): boolean {
    return this.#names.size === 0;
  }

  /** Replaces the names of the definition. */
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

  #each(names: DefinitionNames): readonly (readonly [Claimants, string])[] {
    const { plural, singular, shortNames, kind, listKind } = names;
    const resources = [plural, singular, ...(shortNames ?? [])];
    return [
      ...resources.map((name) => [this.#resources, name ?? ""] as const),
      ...[kind, listKind].map((name) => [this.#kinds, name ?? ""] as const),
    ].filter(([, name]) => name !== "");
  }
}
