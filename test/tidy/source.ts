import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

export interface SourceFile {
  /** Relative to the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly isTest: boolean;
}

/** Every TypeScript file of the project, in order of path. */
export function sourceFiles(): readonly SourceFile[] {
  return ["cmd", "examples", "pkg", "test"]
    .flatMap((folder) => filesBelow(folder))
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .map((file) => {
      const text = readFileSync(path.join(root, file), "utf8");
      const isTest =
        /^(?:test|examples)\//.test(file) || /(\.test|\/suite|\/testing)\.ts$/.test(file);
      return { path: file, text, lines: text.split("\n"), isTest };
    });
}

export function filesBelow(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const below = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(below) : [below];
  });
}

/** Specifiers of static and dynamic imports and re-exports. */
export function importsOf(file: SourceFile): readonly string[] {
  const pattern = /(?:\bfrom |^import )"([^"\s]+)";$|\bimport\("([^"\s]+)"\)/gm;
  return [...file.text.matchAll(pattern)].map((match) => (match[1] ?? match[2]) as string);
}
