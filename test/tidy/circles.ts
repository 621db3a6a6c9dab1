import path from "node:path";
import { importsOf, type SourceFile } from "./source.ts";

/**
 * Import circles of files, type imports included: the strongly connected components with more than
 * one file (Tarjan's algorithm), each in order of path.
 */
export function importCircles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const paths = new Set(files.map((file) => file.path));
  const targets = new Map(
    files.map((file) => [
      file.path,
      importsOf(file).flatMap((specifier) => {
        const target = resolve(file.path, specifier);
        return paths.has(target) ? [target] : [];
      }),
    ]),
  );
  return components([...paths], (file) => targets.get(file) ?? [])
    .filter((component) => component.length > 1)
    .map((component) => component.toSorted());
}

function resolve(from: string, specifier: string): string {
  if (specifier.startsWith("#")) return `pkg/${specifier.slice(1)}/index.ts`;
  return path.posix.join(path.posix.dirname(from), specifier);
}

/** Strongly connected components of a directed graph. */
export function components<Node>(
  nodes: readonly Node[],
  targetsOf: (node: Node) => readonly Node[],
): readonly (readonly Node[])[] {
  const visited = new Map<Node, { readonly index: number; lowest: number; open: boolean }>();
  const stack: Node[] = [];
  const found: Node[][] = [];
  const visit = (node: Node) => {
    const own = { index: visited.size, lowest: visited.size, open: true };
    visited.set(node, own);
    stack.push(node);
    for (const target of targetsOf(node)) {
      const known = visited.get(target);
      if (known === undefined) own.lowest = Math.min(own.lowest, visit(target).lowest);
      else if (known.open) own.lowest = Math.min(own.lowest, known.index);
    }
    if (own.lowest === own.index) {
      const component = stack.splice(stack.indexOf(node));
      for (const member of component) close(visited.get(member));
      found.push(component);
    }
    return own;
  };
  for (const node of nodes) if (!visited.has(node)) visit(node);
  return found;
}

function close(state: { open: boolean } | undefined): void {
  if (state !== undefined) state.open = false;
}
