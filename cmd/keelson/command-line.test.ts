import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../test/tidy/source.ts";

const chunks = path.join(root, "dist", "chunks");

/** Source files of the chunks that a command's module imports when it starts. */
function sourcesOf(command: string): readonly string[] {
  const isMain = (name: string) => /^main-\w+\.cjs$/.test(name);
  const exported = new RegExp(`module\\.exports=\\{[^}]*\\b${command}\\b`);
  const main = readdirSync(chunks).find((name) => {
    return isMain(name) && exported.test(readFileSync(path.join(chunks, name), "utf8"));
  });
  assert(main, `no chunk exports ${command}`);
  const reached = new Set([main]);
  for (const name of reached) {
    const text = readFileSync(path.join(chunks, name), "utf8");
    const imported = text.matchAll(/(?:^|[=;])require\("\.\/([\w-]+\.cjs)"\)/g);
    for (const [, other] of imported) reached.add(other as string);
  }
  return [...reached].flatMap((name) => {
    return JSON.parse(readFileSync(path.join(chunks, `${name}.map`), "utf8")).sources as string[];
  });
}

describe("the bundle", () => {
  it("loads the request handlers and admission plugins only in commands that serve the API", () => {
    const isServing = (file: string) => /pkg\/(admission|server\/(verbs|stages))\//.test(file);
    assert(sourcesOf("apiserverCommand").some(isServing));
    for (const command of ["schedulerCommand", "certificatesCommand", "clusterCommand"]) {
      assert.deepEqual(sourcesOf(command).filter(isServing), [], command);
    }
  });

  it("loads the controllers only in commands that run them", () => {
    const isController = (file: string) => /pkg\/controllers\/(apps|batch|job)/.test(file);
    assert(sourcesOf("controllerManagerCommand").some(isController));
    assert.deepEqual(sourcesOf("schedulerCommand").filter(isController), []);
  });
});
