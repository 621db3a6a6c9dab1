// A plugin of esbuild: imports of a package folder's index.ts go to the files that declare the imported names.
// esbuild does not split files among chunks: an import of an index file would put the package into the chunk.
import { readFileSync } from "node:fs";
import path from "node:path";

const named = /^(import|export) \{([^}]*)\} from "([^"]+)";/gm;
const star = /^export \* from "([^"]+)";/gm;
const declared =
  /^export (?:declare |abstract |async )*(?:const|let|function\*?|class|enum) (\w+)/gm;

export function indexImports(root) {
  const exportsByFile = new Map();

  /** File that declares an exported name, and the name there; undefined = not found. */
  function declarationOf(file, name) {
    let found = exportsByFile.get(file);
    if (found === undefined) exportsByFile.set(file, (found = exportsOf(file)));
    const own = found.names.get(name);
    if (own !== undefined) return own.from ? declarationOf(own.from, own.name) : { file, name };
    for (const other of found.stars) {
      const there = declarationOf(other, name);
      if (there !== undefined) return there;
    }
    return undefined;
  }

  function exportsOf(file) {
    const text = readFileSync(file, "utf8");
    const names = new Map();
    for (const [, name] of text.matchAll(declared)) names.set(name, {});
    for (const [, , list] of text.matchAll(/^(export) \{([^}]*)\};/gm)) {
      for (const { alias } of valuesIn(list)) names.set(alias, {});
    }
    for (const [, keyword, list, source] of text.matchAll(named)) {
      const from = keyword === "export" ? resolved(source, file) : undefined;
      if (from === undefined) continue;
      for (const { name, alias } of valuesIn(list)) names.set(alias, { from, name });
    }
    const stars = [...text.matchAll(star)].map(([, source]) => resolved(source, file));
    return { names, stars: stars.filter((each) => each !== undefined) };
  }

  function resolved(source, importer) {
    if (source.startsWith("#")) return path.join(root, "pkg", source.slice(1), "index.ts");
    return source.startsWith(".") ? path.resolve(path.dirname(importer), source) : undefined;
  }

  function narrowed(statement, keyword, list, source, importer) {
    if (keyword === "export" || (path.basename(source) !== "index.ts" && !source.startsWith("#"))) {
      return statement;
    }
    const index = resolved(source, importer);
    const lines = valuesIn(list).map(({ name, alias }) => {
      const { file, name: there } = declarationOf(index, name) ?? { file: index, name };
      return `import { ${there} as ${alias} } from ${JSON.stringify(file)};`;
    });
    return lines.join(" ") + "\n".repeat(statement.split("\n").length - 1);
  }

  return {
    name: "index-imports",
    setup({ onLoad }) {
      onLoad({ filter: /\/(?:pkg|cmd)\/.*\.ts$/ }, ({ path: file }) => {
        const text = readFileSync(file, "utf8");
        const contents = text.replace(named, (...match) => narrowed(...match.slice(0, 4), file));
        return { contents, loader: "ts" };
      });
    },
  };
}

/** Members of an import or export list that are no types: name at the source, and name here. */
function valuesIn(list) {
  const members = list.split(",").map((member) => member.trim());
  return members
    .filter((member) => member !== "" && !member.startsWith("type "))
    .map((member) => {
      const [name, alias = name] = member.split(/\s+as\s+/);
      return { name, alias };
    });
}
