import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bodyOfIndex, danglingComments } from "./comments.ts";
import { doors, layers, rankOf } from "./layers.ts";
import { components, importCircles } from "./circles.ts";
import { filesByFolder, maxFolderFiles } from "./rooms.ts";
import { filesBelow, importsOf, root, type SourceFile, sourceFiles } from "./source.ts";
import { usedByTestsOnly } from "./test-only.ts";

const maxFileLines = 500;
/** The formatter breaks at 100; a long literal that it cannot break may go a little beyond. */
const maxLineLength = 110;
const files = sourceFiles();
const products = files.filter((file) => !file.isTest);

describe("tidy", () => {
  it("imports go down the ranks, through index.ts", () => {
    none(files.flatMap((file) => importsOf(file).flatMap((to) => importFault(file, to))));
  });

  it("each npm package is imported by one folder", () => {
    none(products.flatMap((file) => importsOf(file).flatMap((to) => doorFault(file, to))));
  });

  it("files do not import each other in circles, types included", () => {
    none(importCircles(products).map((circle) => circle.join(", ")));
  });

  it("finds a circle of any length", () => {
    const targets: Readonly<Record<string, string>> = { a: "b", b: "c", c: "a", d: "a", e: "e" };
    const found = components(Object.keys(targets), (node) => [targets[node] as string]);
    assert.deepEqual(found.map((component) => component.join("")).toSorted(), ["abc", "d", "e"]);
  });

  it(`folders have at most ${maxFolderFiles} source files`, () => {
    none(
      [...filesByFolder(products)]
        .filter(([, count]) => count > maxFolderFiles)
        .map(([folder, count]) => `${folder}: ${count} files`),
    );
  });

  it("pkg/ and cmd/ contain only TypeScript and derived data, and no empty files", () => {
    const stray = ["pkg", "cmd"]
      .flatMap((folder) => filesBelow(folder))
      .filter((file) => file !== "pkg/controlplane/bootstrap/stored-objects.json")
      .filter((file) => !/\.c?ts$/.test(file) || statSync(path.join(root, file)).size === 0);
    assert.deepEqual(stray, []);
  });

  it("files and lines are short", () => {
    none(
      files.flatMap((file) => [
        ...(file.lines.length > maxFileLines + 1
          ? [`${file.path}: ${file.lines.length} lines`]
          : []),
        ...file.lines.flatMap((line, index) =>
          line.length > maxLineLength ? [`${file.path}:${index + 1}: ${line.length} columns`] : [],
        ),
      ]),
    );
  });

  it("constants are in camel case", () => {
    const upperCase = /^\s*(?:export )?const [A-Z][A-Z0-9_]+\b/;
    none(
      files.flatMap(({ path, lines }) =>
        lines.filter((line) => upperCase.test(line)).map((line) => `${path}: ${line}`),
      ),
    );
  });

  it("there are no TODOs, disabled checks or swallowed errors", () => {
    const banned: readonly (readonly [RegExp, string])[] = [
      [/\b(?:TO[D]O|FIX[M]E|XX[X]|HAC[K])\b/, "left for later"],
      [/\b(?:it|describe)\.only\(/, "only one test runs"],
      [/catch\s*(?:\([^)]*\))?\s*\{\s*\}/, "swallowed error"],
      [/@ts-(?:ignore|nocheck)/, "type check switched off"],
      [/^export default\b/m, "default export"],
      [/^\s*(?:export )?(?:const )?enum \w/m, "enum"],
    ];
    none(
      files.flatMap((file) =>
        banned.flatMap(([pattern, why]) =>
          pattern.test(file.text) ? [`${file.path}: ${why}`] : [],
        ),
      ),
    );
  });

  it("no module reassigns its exports: chunks of the bundle read them once", () => {
    const changing = files.filter(({ text }) => /^export (?:let|var) /m.test(text));
    assert.deepEqual(
      changing.map((file) => file.path),
      [],
    );
  });

  it("only cmd/ reads arguments and environment of the process", () => {
    const fault = /\bprocess\.(?:argv|env)\b/;
    none(
      products
        .filter((file) => file.path.startsWith("pkg/") && fault.test(file.text))
        .map((file) => file.path),
    );
  });

  it("the time of the cluster comes from the clock that is passed in", () => {
    const folders =
      /^pkg\/(?:client|controllers|crd|nodes(?!\/kubelet\/)|quota|registry|scheduler|storage\/embedded)\//;
    const fault = /\bDate\.now\(|\bnew Date\(\)|\bset(?:Timeout|Interval)\b|\bperformance\.now\(/;
    const comment = /^\s*(?:\/?\*|\/\/)/;
    none(
      products
        .filter(({ path }) => folders.test(path))
        .filter(({ lines }) => lines.some((line) => fault.test(line) && !comment.test(line)))
        .map(({ path }) => path),
    );
  });

  it("JSON is parsed by parseJsonText, which avoids V8's bug with escaped keys", () => {
    // Tokens that are strings alone.
    const tokens = /^pkg\/nodes\/stages\/(?:jq|template)\/tokens\.ts$/;
    none(
      products
        .filter(({ path }) => path !== "pkg/base/text/parse-json.ts" && !tokens.test(path))
        .filter(({ text }) => text.includes("JSON.parse("))
        .map(({ path }) => path),
    );
  });

  it("the Kubernetes domains are spelled in one file", () => {
    const spelt = /["'`/.](?:k8s\.io|kubernetes\.io)\b/;
    none(
      products
        .filter((file) => file.path.startsWith("pkg/") && file.path !== "pkg/meta/kind/domain.ts")
        .flatMap((file) =>
          file.lines.flatMap((line, index) =>
            spelt.test(line.replace(/^\s*(?:\*|\/\/|\/\*\*).*$/, ""))
              ? [`${file.path}:${index + 1}`]
              : [],
          ),
        ),
    );
  });

  it("every export is used by another file", () => {
    none(products.flatMap((file) => deadExports(file)));
  });

  it("every doc comment documents something", () => {
    none(files.flatMap((file) => danglingComments(file)));
  });

  it("an index.ts is a caption and a list of exports", () => {
    none(
      products
        .filter(({ path }) => path.endsWith("/index.ts"))
        .filter((file) => !file.text.startsWith("/**") || bodyOfIndex(file) !== "")
        .map(({ path }) => path),
    );
  });

  it("nothing exists only for tests", () => {
    none(usedByTestsOnly(products));
  });

  it("the linter reports nothing", () => {
    const linter = path.join(root, "node_modules", ".bin", "oxlint");
    const result = spawnSync(linter, ["--quiet", "pkg", "cmd", "test"], {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(result.status, 0, result.stdout + result.stderr);
  });

  it("everything is formatted (npm run format)", () => {
    const formatter = path.join(root, "node_modules", ".bin", "oxfmt");
    const result = spawnSync(formatter, ["--check", "pkg", "cmd", "test", "scripts"], {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(result.status, 0, result.stdout + result.stderr);
  });

  it("ARCHITECTURE.md shows the current ranks", () => {
    const file = path.join(root, "ARCHITECTURE.md");
    const text = readFileSync(file, "utf8");
    const wanted = text.replace(
      /(<!-- ranks -->\n)[\s\S]*?(<!-- end of ranks -->)/,
      (_all, open: string, close: string) => `${open}${diagram()}${close}`,
    );
    if (process.env["UPDATE"] === "1") writeFileSync(file, wanted);
    else assert.equal(text, wanted, "run UPDATE=1 npx mocha test/tidy/tidy.test.ts");
  });

  it("no path of one machine is committed", () => {
    const tracked = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" });
    const machine = new RegExp(
      ["", "(?:wo", "rk|ho", "me|Us", "ers)/[a-z]"].join("").replace(/^/, "/"),
    );
    none(
      tracked
        .split("\n")
        .filter((name) => /\.(?:ts|mjs|md|json|yml|sh)$/.test(name) && !name.includes("lock"))
        .filter((name) => existsSync(path.join(root, name)))
        .filter((name) => machine.test(readFileSync(path.join(root, name), "utf8"))),
    );
  });
});

function none(faults: readonly string[]): void {
  assert.deepEqual(faults, []);
}

function importFault(file: SourceFile, to: string): string[] {
  const own = /^pkg\/([^/]+)\//.exec(file.path)?.[1];
  const target = /^#([^/]+)(.*)$/.exec(to);
  if (target === null) {
    const leaves = own !== undefined && to.startsWith(".") && leavesFolder(file.path, to, own);
    // Tests share what other packages offer for tests.
    return leaves && !(file.isTest && to.endsWith("/testing.ts"))
      ? [`${file.path}: ${to} leaves its folder`]
      : [];
  }
  const [, folder = "", rest] = target;
  if (rest !== "") return [`${file.path}: ${to} goes past an index.ts`];
  if (rankOf(folder) < 0) return [`${file.path}: ${to} has no rank`];
  if (own === undefined || file.isTest || folder === own) return [];
  return rankOf(folder) < rankOf(own) ? [] : [`${file.path}: ${to} is not of a lower rank`];
}

function leavesFolder(from: string, to: string, own: string): boolean {
  return !path.posix.join(path.posix.dirname(from), to).startsWith(`pkg/${own}/`);
}

function doorFault(file: SourceFile, to: string): string[] {
  if (to.startsWith(".") || to.startsWith("#") || to.startsWith("node:")) return [];
  const name = to
    .split("/")
    .slice(0, to.startsWith("@") ? 2 : 1)
    .join("/");
  const allowed = doors[name];
  if (allowed === undefined) return [`${file.path}: ${name} has no door`];
  return allowed.some((door) => door.test(file.path)) ? [] : [`${file.path}: ${name}`];
}

function deadExports(file: SourceFile): string[] {
  if (file.path.endsWith("/index.ts")) return [];
  const declaration =
    /^export (?:abstract |async )?(const|function\*?|class|interface|type) (\w+)/gm;
  return [...file.text.matchAll(declaration)]
    .map(([, kind = "", name = ""]) => ({ kind, name }))
    .filter((declared) => !isUsed(declared, file))
    .map(({ name }) => `${file.path}: ${name}`);
}

/** A type may be exported because it is part of the shape of something else in its file. */
function isUsed({ kind, name }: { kind: string; name: string }, file: SourceFile): boolean {
  const isType = kind === "interface" || kind === "type";
  if (isType && file.text.split(new RegExp(`\\b${name}\\b`)).length > 2) return true;
  return files.some((other) => other !== file && uses(other, name));
}

/** A re-export does not count as use, except through the package's own front door. */
function uses(file: SourceFile, name: string): boolean {
  const reexports = file.path.endsWith("/index.ts") && file.path !== "cmd/keelson/index.ts";
  const text = reexports ? file.text.replace(/^export [^;]* from "[^"]+";/gms, "") : file.text;
  return new RegExp(`\\b${name}\\b`).test(text);
}

function diagram(): string {
  const rows = layers.map((names, rank) => `${String(rank).padStart(2)}  ${names.join("  ")}`);
  return ["```text", ...rows, `${String(layers.length).padStart(2)}  cmd`, "```", ""].join("\n");
}
