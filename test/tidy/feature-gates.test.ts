/** The table of feature gates agrees with the source and with docs/feature-gates.md. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Gate, knownGates } from "../../pkg/api/features/feature-gates.ts";
import { reasons } from "../../pkg/api/features/gate-table.ts";
import { root, sourceFiles } from "./source.ts";

const file = path.join(root, "docs/feature-gates.md");

describe("feature gates", () => {
  it("act if and only if the source names them", () => {
    const found = sourceFiles()
      .filter(({ path: at, isTest }) => !isTest && !at.startsWith("pkg/api/features/"))
      .flatMap(({ text }) => [...text.matchAll(/"([A-Z][A-Za-z0-9,]+)"|\[([A-Z][A-Za-z0-9]+)\]/g)])
      .flatMap(([, listed = "", marked = ""]) => [...listed.split(","), marked])
      .filter((name) => knownGates.has(name));
    const acting = [...knownGates].filter(([, { effect }]) => effect === "acts");
    assert.deepEqual(
      [...new Set(found)].sort(),
      acting.map(([name]) => name),
    );
  });

  it("have an effect, are locked, or have a reason", () => {
    for (const [name, { effect, isLocked }] of knownGates) {
      if (effect === "locked") assert.ok(isLocked, name);
      else assert.ok(effect === "acts" || Object.hasOwn(reasons, effect), name);
    }
    const used = new Set([...knownGates.values()].map(({ effect }) => effect));
    for (const reason of Object.keys(reasons))
      assert.ok(used.has(reason as Gate["effect"]), reason);
  });

  it("are listed in docs/feature-gates.md", () => {
    const text = documentText();
    if (process.env["UPDATE"] !== undefined) writeFileSync(file, text);
    assert.equal(readFileSync(file, "utf8"), text, "UPDATE=1 writes the document");
  });
});

function documentText(): string {
  const sections = Object.entries(reasons).map(
    ([effect, reason]) => `No effect here because ${reason}:\n\n${tableOf(effect)}`,
  );
  return (
    [
      "# Feature gates",
      "Stages and defaults are those of Kubernetes 1.34. `--feature-gates` of all programs accepts these " +
        "names, and `AllAlpha` and\n`AllBeta`; other names are an error. The log reports a gate without " +
        "effect that is set to another value than its default.",
      "## Gates that act",
      tableOf("acts"),
      "## Gates that are locked to their defaults",
      "Setting one to another value is an error.",
      tableOf("locked"),
      "## Gates without effect",
      ...sections,
    ].join("\n\n") + "\n"
  );
}

function tableOf(effect: string): string {
  const rows = [...knownGates]
    .filter(([, gate]) => gate.effect === effect)
    .map(([name, { stage, on }]) => `| ${name} | ${stage} | ${on ? "on" : "off"} |`);
  return ["| gate | stage | default |", "|---|---|---|", ...rows].join("\n");
}
