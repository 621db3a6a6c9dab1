// Makes the chunks of the bundle CommonJS modules, for which dist/load-chunk.js keeps compiled code.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { transform } from "esbuild";

const chunk = /^\.\/(?:chunks\/)?[\w-]+\.js$/;
/** Static imports and exports as esbuild prints them, each at the start of a line. */
const importing = /^import (?:([\w$]+|\{[^}]*\}) from )?"([^"]+)";$/gm;
const exporting = /^export \{([^}]*)\};$/m;

/** `dist`: where esbuild has put entries and chunks, with white space and inline source maps. */
export async function convertChunks(dist, entries) {
  const chunks = path.join(dist, "chunks");
  const converted = readdirSync(chunks).map(async (name) => {
    const file = path.join(chunks, name);
    const text = asCommonJs(readFileSync(file, "utf8"));
    rmSync(file);
    await writeMinified(file.replace(/js$/, "cjs"), text, {
      define: { "import.meta.url": "chunkUrl" },
      supported: { "dynamic-import": false },
    });
  });
  const loading = entries.map(async (name) => {
    const file = path.join(dist, name);
    await writeMinified(file, asEntry(readFileSync(file, "utf8")));
  });
  await Promise.all([...converted, ...loading]);
}

async function writeMinified(file, text, options = {}) {
  const sourcefile = path.basename(file);
  const common = { sourcefile, sourcemap: "external", minifyWhitespace: true, target: "node20" };
  const { code, map } = await transform(text, { ...common, ...options });
  writeFileSync(file, `${code}//# sourceMappingURL=${sourcefile}.map\n`);
  writeFileSync(`${file}.map`, map);
}

/** Chunks import one another in no circle and change no export, so constants can take the place of bindings. */
function asCommonJs(text) {
  return replaceImports(text, (source) => `require(${JSON.stringify(source)})`)
    .replace(/\bimport\("(\.\/[\w-]+)\.js"\)/g, 'import("$1.cjs")')
    .replace(exporting, (_all, list) => `module.exports = {${renamed(list, "$2: $1")}};`);
}

/** An entry stays an ES module, whose chunks load-chunk.js loads. */
function asEntry(text) {
  const load = (source) => `loadChunk(${JSON.stringify(source)})`;
  const replaced = replaceImports(text, load, { onlyChunks: true }).replace(
    /\bimport\("(\.\/chunks\/[\w-]+)\.js"\)/g,
    'loadChunk("$1.cjs")',
  );
  if (replaced === text) return text;
  const line = 'import { loadChunk } from "./load-chunk.js";';
  return replaced.startsWith("#!") ? replaced.replace("\n", `\n${line} `) : `${line} ${replaced}`;
}

function replaceImports(text, load, { onlyChunks = false } = {}) {
  return text.replace(importing, (statement, names, source) => {
    const isChunk = chunk.test(source);
    if (onlyChunks && !isChunk) return statement;
    const value = load(isChunk ? source.replace(/js$/, "cjs") : source);
    // Source maps go by lines.
    const lines = "\n".repeat(statement.split("\n").length - 1);
    if (names === undefined) return `${value};${lines}`;
    const bound = names.startsWith("{") ? `{${renamed(names.slice(1, -1), "$1: $2")}}` : names;
    return `const ${bound} = ${value};${lines}`;
  });
}

/** Replaces each `a as b` of a list by `pattern`, on as many lines. */
function renamed(list, pattern) {
  return list.replace(/([\w$]+)\s+as\s+([\w$]+)/g, pattern).replaceAll("\n", " ");
}
