import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { BenchServer } from "../load/servers.ts";
import { inProcess } from "../load/testing.ts";
import { compare } from "./index.ts";

describe("bench --compare", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-compare-"));
  let other: BenchServer;

  before(async () => {
    const own = path.join(folder, "running");
    mkdirSync(own);
    other = await inProcess({ etcd: undefined, folder: own });
  });

  after(async () => {
    await other.stop();
    rmSync(folder, { recursive: true });
  });

  it("prints the figures of both servers and their ratio for each row", async () => {
    const lines: string[] = [];
    await compare({
      compare: other.aim.url,
      token: other.aim.token,
      insecure: true,
      comparePid: other.pid,
      backend: "memory",
      folder,
      launcher: inProcess,
      objects: 5,
      seconds: 0.1,
      calls: 20,
      rounds: 1,
      watchers: [],
      only: ["create", "apply, a change", "pod status", "watch, 1 "],
      print: (line) => lines.push(line),
    });
    const rates = lines.filter((line) => /\/s\s+\d[\d.]*\/s\s+[\d.]+x$/.test(line));
    assert.deepEqual(
      rates.map((line) => line.split(/ \*| {2,}/)[0]),
      [
        ...["ConfigMap", "Pod", "Deployment", "custom resource"].map((kind) => `create ${kind}`),
        "apply, a change",
        "pod status",
        "watch, 1 watcher, 1 writer",
      ],
    );
    for (const name of ["resident memory when ready", "resident memory after this load"]) {
      assert.match(lines.find((line) => line.startsWith(name)) ?? "", /MiB +\d+ MiB +[\d.]+x/);
    }
  });

  it("rejects a server with an untrusted certificate", async () => {
    const options = { token: "", insecure: false, backend: "memory" as const, folder };
    const rows = { objects: 1, seconds: 0.1, calls: 1, rounds: 1, watchers: [], only: [] };
    const target = { compare: other.aim.url, print: () => undefined };
    await assert.rejects(compare({ ...options, ...rows, ...target }), /certificate/);
  });

  it("rejects unknown names of rows", async () => {
    const options = { token: other.aim.token, insecure: true, backend: "memory" as const };
    const rows = { objects: 1, seconds: 0.1, calls: 1, rounds: 1, watchers: [], only: ["GTE"] };
    const own = { folder: mkdtempSync(path.join(folder, "own-")), launcher: inProcess };
    await assert.rejects(
      compare({ compare: other.aim.url, ...options, ...rows, ...own }),
      /--only: no row starts with GTE/,
    );
  });
});
