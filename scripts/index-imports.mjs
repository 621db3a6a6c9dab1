// esbuild plugin: replaces imports of a folder's index.ts by imports of the files that declare the names.
// esbuild assigns whole files to chunks: an imported index file would bring all modules of its folder along.
import { readFileSync } from "node:fs";
import path from "node:path";

const namedList = /^(import|export) \{([^}]*)\} from "([^"]+)";/gm;
const star = /^export \* from "([^"]+)";/gm;
const declaration =
  /^export (?:declare |abstract |async )*(?:const|let|function\*?|class|enum) (\w+)/gm;

export function indexImports(root) {
  const exportsByFile = new Map();

  /** The file that declares an exported name, and the name in that file; undefined if not found. */
  function declarationOf(file, name) {
    let exported = exportsByFile.get(file);
    if (exported === undefined) exportsByFile.set(file, (exported = exportsOf(file)));
    const named = exported.names.get(name);
    if (named !== undefined) {
      return named.from ? declarationOf(named.from, named.name) : { file, name };
    }
    for (const source of exported.stars) {
      const reexported = declarationOf(source, name);
      if (reexported !== undefined) return reexported;
    }
    return undefined;
  }

  function exportsOf(file) {
    const text = readFileSync(file, "utf8");
    const names = new Map();
    for (const [, name] of text.matchAll(declaration)) names.set(name, {});
    for (const [, , list] of text.matchAll(/^(export) \{([^}]*)\};/gm)) {
      for (const { alias } of valuesIn(list)) names.set(alias, {});
    }
    for (const [, keyword, list, source] of text.matchAll(namedList)) {
      const from = keyword === "export" ? resolved(source, file) : undefined;
      if (from === undefined) continue;
      for (const { name, alias } of valuesIn(list)) names.set(alias, { from, name });
    }
    const stars = [...text.matchAll(star)].map(([, source]) => resolved(source, file));
    return { names, stars: stars.filter((source) => source !== undefined) };
  }

  function resolved(source, importer) {
    if (source.startsWith("#")) return path.join(root, "pkg", source.slice(1), "index.ts");
    return source.startsWith(".") ? path.resolve(path.dirname(importer), source) : undefined;
  }

  function replaceImport(statement, keyword, list, source, importer) {
    if (keyword === "export" || (path.basename(source) !== "index.ts" && !source.startsWith("#"))) {
      return statement;
    }
    const index = resolved(source, importer);
    const lines = valuesIn(list).map(({ name, alias }) => {
      const target = declarationOf(index, name) ?? { file: index, name };
      return `import { ${target.name} as ${alias} } from ${JSON.stringify(target.file)};`;
    });
    return lines.join(" ") + "\n".repeat(statement.split("\n").length - 1);
  }

  return {
    name: "index-imports",
    setup({ onLoad }) {
      onLoad({ filter: /\/(?:pkg|cmd)\/.*\.ts$/ }, ({ path: file }) => {
        const text = readFileSync(file, "utf8");
        const contents = text.replace(namedList, (...match) =>
          replaceImport(...match.slice(0, 4), file),
        );
        return { contents, loader: "ts" };
      });
    },
  };
}

/** The members of an import or export list except types: exported name and alias. */
function valuesIn(list) {
  const members = list.split(",").map((member) => member.trim());
  return members
    .filter((member) => member !== "" && !member.startsWith("type "))
    .map((member) => {
      const [name, alias = name] = member.split(/\s+as\s+/);
      return { name, alias };
    });
}
