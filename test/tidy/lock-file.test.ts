/** `npm ci` refuses a lock file that lacks a dependency; npm writes one where a registry lacks packages. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./source.ts";

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Packages = Readonly<Record<string, LockedPackage>>;

describe("package-lock.json", () => {
  const read = (name: string) => JSON.parse(readFileSync(path.join(root, name), "utf8"));
  const packages: Packages = read("package-lock.json").packages;

  it("pins the dependencies of package.json", () => {
    const { dependencies, devDependencies } = read("package.json");
    const { [""]: locked } = packages;
    assert.deepEqual(locked?.dependencies, dependencies);
    assert.deepEqual(locked?.devDependencies, devDependencies);
  });

  it("has an entry for every dependency of every entry, other platforms' binaries included", () => {
    const missing = Object.entries(packages).flatMap(([folder, entry]) => {
      const wanted = { ...entry.dependencies, ...entry.optionalDependencies };
      return Object.keys(wanted)
        .filter((name) => !isResolved(packages, folder, name))
        .map((name) => `${folder} needs ${name}`);
    });
    assert.deepEqual(missing, []);
  });
});

/** Node's rule: the nearest node_modules, from the folder upwards. */
function isResolved(packages: Packages, folder: string, name: string): boolean {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    if (`${at === "" ? "" : `${at}/`}node_modules/${name}` in packages) return true;
    if (at === "") return false;
  }
}
