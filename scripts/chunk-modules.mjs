// Converts the chunks of the bundle to CommonJS modules, whose compiled code dist/load-chunk.js caches.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { transform } from "esbuild";

const chunk = /^\.\/(?:chunks\/)?[\w-]+\.js$/;
/** Static import and export statements as esbuild prints them: at the start of a line. */
const importStatement = /^import (?:([\w$]+|\{[^}]*\}) from )?"([^"]+)";$/gm;
const exportStatement = /^export \{([^}]*)\};$/m;

/** Converts and minifies esbuild's output in `dist`, which has white space and inline source maps. */
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
  const minified = entries.map(async (name) => {
    const file = path.join(dist, name);
    await writeMinified(file, asEntry(readFileSync(file, "utf8")));
  });
  await Promise.all([...converted, ...minified]);
}

async function writeMinified(file, text, options = {}) {
  const sourcefile = path.basename(file);
  const common = { sourcefile, sourcemap: "external", minifyWhitespace: true, target: "node20" };
  const { code, map } = await transform(text, { ...common, ...options });
  writeFileSync(file, `${code}//# sourceMappingURL=${sourcefile}.map\n`);
  writeFileSync(`${file}.map`, map);
}

/**
 * Converts an ES module to CommonJS. Imports become constants instead of live bindings, since chunks have
 * no import cycles and do not reassign exports.
 */
function asCommonJs(text) {
  return replaceImports(text, (source) => `require(${JSON.stringify(source)})`)
    .replace(/\bimport\("(\.\/[\w-]+)\.js"\)/g, 'import("$1.cjs")')
    .replace(exportStatement, (_all, list) => `module.exports = {${renamed(list, "$2: $1")}};`);
}

/** Replaces an entry's imports of chunks by calls of `loadChunk`; the entry remains an ES module. */
function asEntry(text) {
  const load = (source) => `loadChunk(${JSON.stringify(source)})`;
  const replaced = replaceImports(text, load, { onlyChunks: true }).replace(
    /\bimport\("(\.\/chunks\/[\w-]+)\.js"\)/g,
    'loadChunk("$1.cjs")',
  );
  if (replaced === text) return text;
  // On the first line of code, so that line numbers in the source map stay valid.
  const importLoader = 'import { loadChunk } from "./load-chunk.js";';
  return replaced.startsWith("#!")
    ? replaced.replace("\n", `\n${importLoader} `)
    : `${importLoader} ${replaced}`;
}

function replaceImports(text, load, { onlyChunks = false } = {}) {
  return text.replace(importStatement, (statement, names, source) => {
    const isChunk = chunk.test(source);
    if (onlyChunks && !isChunk) return statement;
    const value = load(isChunk ? source.replace(/js$/, "cjs") : source);
    // Keeps the number of lines, and so the line numbers in the source map.
    const lines = "\n".repeat(statement.split("\n").length - 1);
    if (names === undefined) return `${value};${lines}`;
    const bindings = names.startsWith("{") ? `{${renamed(names.slice(1, -1), "$1: $2")}}` : names;
    return `const ${bindings} = ${value};${lines}`;
  });
}

/** Replaces each `a as b` of a list by `pattern`, on one line. */
function renamed(list, pattern) {
  return list.replace(/([\w$]+)\s+as\s+([\w$]+)/g, pattern).replaceAll("\n", " ");
}
