import { append, deepEqual, isJsonObject, yieldEvery, printJson } from "#base";
import { parseExactJson } from "#schema";
import {
  kindsExtension,
  kindsOf,
  referencesIn,
  type RemoteSpec,
  renameReferences,
} from "./remote-spec.ts";

/** This server's document, into which the specs of other servers are merged. */
export interface LocalSpec {
  readonly hasPath: (path: string) => boolean;
  /** JSON of a definition; undefined if there is none. */
  readonly definition: (name: string) => string | undefined;
}

/**
 * Merges specs into the local document as kube-openapi does; returns the added and replaced paths and
 * definitions. On a path conflict the first document wins. A definition whose name is taken by a
 * different one is renamed to `NAME_v2`, with its references; equal definitions are merged, with the
 * kinds of both.
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
  private readonly maybeYield = yieldEvery();

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
      await this.maybeYield();
    }
    for (const [path, text] of paths) {
      this.paths.set(path, renameReferences(text, names));
      await this.maybeYield();
    }
  }

  private hasPath(path: string): boolean {
    return this.paths.has(path) || this.local.hasPath(path);
  }

  private definition(name: string): string | undefined {
    return this.definitions.get(name) ?? this.local.definition(name);
  }

  /** New names of the definitions that conflict with a different one of the same name. */
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
        await this.maybeYield();
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

/** Definitions that the texts refer to, directly or indirectly. */
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
  const value = parseExactJson(text);
  if (isJsonObject(value)) delete value[kindsExtension];
  return value;
}

/** The definition `text` with the kinds of an equal one added. */
function withKindsOf(text: string, other: string): string {
  const value = parseExactJson(text) as Record<string, unknown>;
  const kinds = kindsOf(value[kindsExtension]);
  const more = kindsOf((parseExactJson(other) as Record<string, unknown>)[kindsExtension]);
  const added = more.filter((kind) => !kinds.some((each) => deepEqual(each, kind)));
  if (added.length === 0) return text;
  return printJson({ ...value, [kindsExtension]: [...kinds, ...added] });
}
