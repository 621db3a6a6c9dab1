/**
 * Sends the recorded expressions (`../shared/facts/cel`, skipped if absent) to live servers and compares
 * verdicts, values and messages with those of Kubernetes. Differences must be in known-differences.json
 * with a reason; an entry that no longer differs fails, too. docs/decisions/014-cel-differences.md
 * explains the intended ones.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type StartOptions, startServer } from "../../../pkg/controlplane/index.ts";
import { root } from "../../tidy/source.ts";

const folder = path.join(root, "../shared/facts/cel");
const tokens = path.join(root, "../shared/transcripts/tokens.csv");
const list = path.join(root, "test/integration/cel/known-differences.json");

/** File name -> case -> reason. */
type Known = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Report {
  readonly total: Readonly<Record<"compiled" | "ran", number>>;
  readonly report: readonly { readonly file: string; readonly id: string }[];
}

/** Server options that a file requires. */
function settingsOf(file: string): Partial<StartOptions> {
  if (file.startsWith("typecheck")) return { controllers: true };
  if (!file.startsWith("all-")) return {};
  return {
    runtimeConfig: new Map([["api/all", "true"]]),
    featureGates: new Map([["MutatingAdmissionPolicy", "true"]]),
  };
}

async function played(files: readonly string[]): Promise<Report> {
  const server = await startServer({
    port: 0,
    controllers: false,
    tokens: readFileSync(tokens, "utf8"),
    ...settingsOf(files[0] ?? ""),
  });
  try {
    const paths = files.map((file) => path.join(folder, file));
    const words = [
      path.join(folder, "check-cel.mjs"),
      server.url,
      "admintoken",
      ...paths,
      "--json",
    ];
    return await new Promise((resolve, reject) => {
      // The script exits with 1 if there are differences.
      execFile(process.execPath, words, { maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
        if (stdout.trim() === "") reject(error ?? new Error(stderr));
        else resolve(JSON.parse(stdout));
      });
    });
  } finally {
    await server.close();
  }
}

describe("recorded expressions", function () {
  this.timeout(300_000);

  it("have the verdicts and values of Kubernetes except for known differences", async function () {
    if (!existsSync(folder) || !existsSync(tokens)) this.skip();
    const known: Known = JSON.parse(readFileSync(list, "utf8"));
    const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
    const isSpecial = (file: string) => file.startsWith("all-") || file.startsWith("typecheck");
    const groups = [
      files.filter((file) => !isSpecial(file)),
      ...files.filter(isSpecial).map((file) => [file]),
    ];
    const found = new Set<string>();
    for (const group of groups) {
      const { total, report } = await played(group);
      assert(total.compiled > 0, group.join());
      for (const { file, id } of report) found.add(`${file} ${id}`);
    }
    const expected = Object.entries(known).flatMap(([file, cases]) =>
      Object.keys(cases).map((id) => `${file} ${id}`),
    );
    assert.deepEqual([...found].sort(), expected.sort());
  });
});
