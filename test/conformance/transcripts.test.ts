/**
 * Replays the recorded answers of Kubernetes, where they are (`../shared/transcripts`), against a
 * live
 * server. Steps that are known to differ stand in known-differences.json with their reasons; any
 * other
 * difference fails, and so does a row there that is no longer true.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../tidy/source.ts";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";

const folder = path.join(root, "../shared/transcripts");
const here = path.join(root, "test/conformance");

interface Known {
  /** File name -> step id -> why it differs. */
  readonly [file: string]: Readonly<Record<string, string>>;
}

interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly report: readonly { readonly step: string; readonly diffs: readonly string[] }[];
}

const known: Known = JSON.parse(readFileSync(path.join(here, "known-differences.json"), "utf8"));

describe("recorded answers", function () {
  this.timeout(120_000);
  let server: RunningServer;

  before(async function () {
    if (!existsSync(folder)) this.skip();
    server = await startServer({
      port: 0,
      controllers: false,
      bootstrapTokens: true,
      authorization: ["Node", "RBAC"],
      tokens: readFileSync(path.join(folder, "tokens.csv"), "utf8"),
    });
  });
  after(() => server?.close());

  async function faultsOf(file: string): Promise<readonly object[]> {
    const { report } = await replay(server.url, path.join(folder, file));
    const reasons = known[file] ?? {};
    const different = new Set(report.map(({ step }) => step));
    return [
      ...report.filter(({ step }) => !(step in reasons)),
      ...Object.keys(reasons)
        .filter((step) => !different.has(step))
        .map((step) => ({ step, diffs: ["it differs no longer: take its row away"] })),
    ];
  }

  for (const file of Object.keys(known)) {
    it(file, async () => {
      // Some steps wait for the clock; what differs twice differs.
      const first = await faultsOf(file);
      assert.deepEqual(first.length === 0 ? [] : await faultsOf(file), []);
    });
  }
});

function replay(url: string, file: string): Promise<Report> {
  const words = [path.join(folder, "replay.mjs"), "check", url, file];
  const options = { maxBuffer: 1 << 28, timeout: 110_000 };
  return new Promise((resolve, reject) => {
    const command = [...words, "--json"];
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      if (stdout.trim() === "") reject(error ?? new Error(stderr));
      else resolve(JSON.parse(stdout) as Report);
    });
  });
}
