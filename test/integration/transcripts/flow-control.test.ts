/**
 * Compares the FlowSchema and priority level of requests with recordings of Kubernetes
 * (`../shared/transcripts`, skipped if absent), with their player.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { startServer } from "../../../pkg/controlplane/index.ts";
import { root } from "../../tidy/source.ts";

const folder = path.join(root, "../shared/transcripts");

describe("recorded flow control", () => {
  it("classifies, rejects and dumps like Kubernetes", async function () {
    if (!existsSync(path.join(folder, "apf-flows.json"))) return this.skip();
    const server = await startServer({
      port: 0,
      controllers: false,
      tokens: readFileSync(path.join(folder, "tokens.csv"), "utf8"),
      authorization: ["Node", "RBAC"],
    });
    const words = ["apf-check.mjs", "check", server.url, "apf-flows.json"];
    try {
      const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder });
      assert.match(stdout, /^84 passed, 0 failed$/m);
    } finally {
      await server.close();
    }
  });
});
