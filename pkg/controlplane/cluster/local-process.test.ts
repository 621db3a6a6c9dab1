import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { LocalProcess } from "./local-process.ts";

describe("a supervised process", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "keelson-process-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("is restarted when it has exited, and its end is explained", async () => {
    const log = path.join(directory, "part.log");
    const ends = new AbortController();
    const lines: string[] = [];
    let resolve = (): void => undefined;
    const enough = new Promise<void>((settle) => (resolve = settle));
    let starts = 0;
    const process = new LocalProcess({
      name: "part-1",
      program: globalThis.process.execPath,
      words: ["-e", "process.stdin.resume(); setTimeout(() => process.exit(3), 100)"],
      log,
      ready: async () => void (starts += 1),
    });
    await process.start();
    const supervised = process.supervise(ends.signal, (line) => {
      lines.push(line);
      if (lines.length === 2) resolve();
    });
    process.signal("SIGKILL");
    await enough;
    ends.abort();
    await process.retire(1_000);
    await supervised;
    const rest = `starting it again; its log is ${log}`;
    assert.deepEqual(lines, [
      `part-1 ended (SIGKILL), ${rest}`,
      `part-1 ended (exit code 3), ${rest}`,
    ]);
    assert.equal(starts, 2);
  });
});
