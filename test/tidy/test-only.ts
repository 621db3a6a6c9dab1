import type { SourceFile } from "./source.ts";

/** Exports without a caller in the product, each with the reason. */
const allowed: Readonly<Record<string, string>> = {
  arbitrary: "generates objects for tests, from the declarations of kinds",
  protoText: "prints proto/, which test/tidy/proto.test.ts does",
  protoPackage: "prints proto/, which test/tidy/proto.test.ts does",
  wireKinds: "prints proto/ and test/golden, which tests do",
  keyOfEvent: "the counterpart of revisionOfEvent, which the product calls",
  seededRandom: "randomness of tests that can be repeated",
  silentLogger: "a logger for tests of several folders",
  loadChunk: "the entries of the bundle call it (scripts/chunk-modules.mjs)",
  "SeatRequest.handleEvent": "AbortSignal calls it",
  "OpaqueJson.toJSON": "JSON.stringify calls it",
};

/** Files that only tests import, though their name does not say so. */
const testFiles = /\/(?:suite-[\w-]+|toy-[\w-]+|durable-writer)\.ts$/;

interface Named {
  readonly file: SourceFile;
  readonly name: string;
  /** A member of a class: `Class.member`. */
  readonly title: string;
}

/** Exports, and members of exported classes, whose name no file of the product but a test mentions. */
export function usedByTestsOnly(products: readonly SourceFile[]): readonly string[] {
  const sources = products.filter(({ path }) => !testFiles.test(path));
  const mentions = new Map<string, number>();
  for (const file of sources) {
    const text = file.text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    const body = isIndex(file) ? text.replace(/^export [^;]* from "[^"]+";/gms, "") : text;
    for (const [word] of body.matchAll(/\w+/g)) mentions.set(word, (mentions.get(word) ?? 0) + 1);
  }
  return sources
    .filter((file) => !isIndex(file))
    .flatMap((file) => [...exportsOf(file), ...membersOf(file)])
    .filter(({ name, title }) => mentions.get(name) === 1 && !(title in allowed))
    .map(({ file, title }) => `${file.path}: ${title}`);
}

function isIndex(file: SourceFile): boolean {
  return file.path.endsWith("/index.ts");
}

function exportsOf(file: SourceFile): readonly Named[] {
  const declaration = /^export (?:abstract |async )?(?:const|function\*?|class) (\w+)/gm;
  return [...file.text.matchAll(declaration)].map(([, name = ""]) => ({ file, name, title: name }));
}

function membersOf(file: SourceFile): readonly Named[] {
  const member = /^ {2}(?:async |static |get |set |\*)*(\w+)(?:<[^>]*>)?\(/gm;
  return [...file.text.matchAll(/^export (?:abstract )?class (\w+)[\s\S]*?^}/gm)].flatMap(
    ([body, owner = ""]) =>
      [...body.matchAll(member)]
        .filter(([, name = ""]) => name !== "constructor")
        .map(([, name = ""]) => ({ file, name, title: `${owner}.${name}` })),
  );
}
