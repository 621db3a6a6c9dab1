/** The runner of scripts/runtime.mjs. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const runtime = new URL("../../../scripts/runtime.mjs", import.meta.url).href;

/** Starts a process that calls runInstead with the program. */
function start(program: string) {
  const words = JSON.stringify(["--eval", program]);
  const parent = `import { runInstead } from ${JSON.stringify(runtime)};
    await runInstead(process.execPath, ${words});`;
  const stdio = ["ignore", "pipe", "inherit"] as const;
  return spawn(process.execPath, ["--input-type=module", "--eval", parent], {
    stdio: [...stdio],
  });
}

describe("runInstead", () => {
  it("exits with the command's exit code", async () => {
    const running = start("process.exit(7)");
    assert.deepEqual(await once(running, "exit"), [7, null]);
  });

  it("forwards each signal once", async () => {
    const running = start(`
      let count = 0;
      process.on("SIGTERM", () => {
        count += 1;
        setTimeout(() => process.exit(count), 100);
      });
      setInterval(() => {}, 1000);
      console.log("up");`);
    await once(running.stdout!, "data");
    running.kill("SIGTERM");
    assert.deepEqual(await once(running, "exit"), [1, null]);
  });

  it("ends with the signal that ended the command", async () => {
    const running = start("process.kill(process.pid, 'SIGTERM')");
    const output = text(running.stdout!);
    assert.deepEqual(await once(running, "exit"), [null, "SIGTERM"]);
    assert.equal(await output, "");
  });
});

describe("onPinnedNode", () => {
  it("continues on this Node with KEELSON_NODE=system", async () => {
    const program = `import { onPinnedNode } from ${JSON.stringify(runtime)};
      await onPinnedNode();
      console.log(process.version);`;
    const env = { ...process.env, KEELSON_NODE: "system" };
    const words = ["--input-type=module", "--eval", program];
    const running = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "inherit"] });
    assert.equal((await text(running.stdout)).trim(), process.version);
  });
});
