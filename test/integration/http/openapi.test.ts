/**
 * Compares the structure of every OpenAPI document with that of Kubernetes
 * (`../shared/facts/openapi`, skipped if absent). Descriptions are not compared.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startServer } from "../../../pkg/controlplane/index.ts";
import { root } from "../../tidy/source.ts";

const script = path.join(root, "../shared/facts/openapi/compare-openapi.mjs");

interface Comparison {
  readonly summary: {
    readonly missingDocuments: readonly string[];
    readonly extraDocuments: readonly string[];
    readonly operation: { readonly total: number };
    readonly schema: { readonly total: number };
  };
  /** Differences by operation or schema. */
  readonly report: Readonly<Record<string, readonly string[]>>;
}

/** The output goes to a file, since the script exits before a pipe is drained. */
async function compare(url: string, set: string): Promise<Comparison> {
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-openapi-"));
  const file = path.join(folder, "report.json");
  const output = openSync(file, "w");
  try {
    const words = [script, url, "admintoken", "--set", set, "--json"];
    const child = spawn(process.execPath, words, { stdio: ["ignore", output, "inherit"] });
    await once(child, "exit");
    return JSON.parse(readFileSync(file, "utf8"));
  } finally {
    closeSync(output);
    rmSync(folder, { recursive: true });
  }
}

describe("OpenAPI documents", function () {
  before(function () {
    if (!existsSync(script)) this.skip();
  });

  const sets = { default: new Map<string, string>(), all: new Map([["api/all", "true"]]) };
  for (const [set, runtimeConfig] of Object.entries(sets)) {
    it(`equal those of Kubernetes except for descriptions: ${set}`, async () => {
      const server = await startServer({
        port: 0,
        controllers: false,
        tokens: "admintoken,admin,admin,system:masters\n",
        runtimeConfig,
      });
      try {
        const { summary, report } = await compare(server.url, set);
        assert.deepEqual(report, {});
        assert.deepEqual([...summary.missingDocuments, ...summary.extraDocuments], []);
        assert(summary.operation.total > 1_000 && summary.schema.total > 1_000);
      } finally {
        await server.close();
      }
    });
  }
});
