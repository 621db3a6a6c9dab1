import { append, deepEqual, isJsonObject, yieldEvery, parseJsonText } from "#base";
import {
  kindsExtension,
  kindsOf,
  referencesIn,
  type RemoteSpec,
  renameReferences,
} from "./remote-spec.ts";

/** The document that specs of other servers are merged into. */
export interface LocalSpec {
  readonly hasPath: (path: string) => boolean;
  /** JSON of a definition; undefined = there is none. */
  readonly definition: (name: string) => string | undefined;
}

/**
 * Merges specs into a document, as kube-openapi does; answers what is added to it or replaces a part
 * of it. The first document that has a path wins. A definition of the same name and another content
 * gets a number, `NAME_v2`, and so do references to it; equal ones are shared, with the kinds of
 * both.
 */
export async function mergeSpecs(
  local: LocalSpec,
  specs: readonly RemoteSpec[],
): Promise<RemoteSpec> {
  const merge = new Merge(local);
  for (const spec of specs) await merge.add(spec);
  return merge;
}

class Merge implements RemoteSpec {
  readonly paths = new Map<string, string>();
  readonly definitions = new Map<string, string>();
  private readonly turn = yieldEvery();

  constructor(private readonly local: LocalSpec) {}

  async add(spec: RemoteSpec): Promise<void> {
    const paths = [...spec.paths].filter(([path]) => !this.hasPath(path));
    const definitions = reachable(
      spec,
      paths.map(([, text]) => text),
    );
    const names = await this.namesFor(definitions);
    for (const [name, text] of definitions) {
      this.define(names.get(name) ?? name, renameReferences(text, names));
      await this.turn();
    }
    for (const [path, text] of paths) {
      this.paths.set(path, renameReferences(text, names));
      await this.turn();
    }
  }

  private hasPath(path: string): boolean {
    return this.paths.has(path) || this.local.hasPath(path);
  }

  private definition(name: string): string | undefined {
    return this.definitions.get(name) ?? this.local.definition(name);
  }

  /** Other names for definitions that differ from those that the document has. */
  private async namesFor(
    definitions: ReadonlyMap<string, string>,
  ): Promise<ReadonlyMap<string, string>> {
    const names = new Map<string, string>();
    const taken = new Set<string>();
    for (const [name, text] of definitions) {
      const known = this.definition(name);
      if (known === undefined || isEqualButKinds(known, text)) continue;
      for (let number = 2; !names.has(name); number++) {
        const next = `${name}_v${number}`;
        const other = this.definition(next);
        const isFree = other === undefined && !taken.has(next) && !definitions.has(next);
        if (isFree || (other !== undefined && isEqualButKinds(other, text))) names.set(name, next);
        await this.turn();
      }
      taken.add(names.get(name)!);
    }
    return names;
  }

  private define(name: string, text: string): void {
    const known = this.definition(name);
    const next = known === undefined ? text : withKindsOf(known, text);
    if (next !== known) this.definitions.set(name, next);
  }
}

/** Definitions that the texts refer to, and those refer to in turn. */
function reachable({ definitions }: RemoteSpec, texts: readonly string[]) {
  const found = new Map<string, string>();
  const pending = texts.flatMap(referencesIn);
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const text = definitions.get(name);
    if (text === undefined || found.has(name)) continue;
    found.set(name, text);
    append(pending, referencesIn(text));
  }
  return found;
}

function isEqualButKinds(a: string, b: string): boolean {
  return a === b || deepEqual(withoutKinds(a), withoutKinds(b));
}

function withoutKinds(text: string): unknown {
  const value = parseJsonText(text) as unknown;
  if (isJsonObject(value)) delete value[kindsExtension];
  return value;
}

/** The definition `text` with the kinds of an equal one added. */
function withKindsOf(text: string, other: string): string {
  const value = parseJsonText(text) as Record<string, unknown>;
  const kinds = kindsOf(value[kindsExtension]);
  const more = kindsOf((parseJsonText(other) as Record<string, unknown>)[kindsExtension]);
  const added = more.filter((kind) => !kinds.some((each) => deepEqual(each, kind)));
  if (added.length === 0) return text;
  return JSON.stringify({ ...value, [kindsExtension]: [...kinds, ...added] });
}
