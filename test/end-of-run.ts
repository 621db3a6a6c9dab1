/**
 * What tests have left running must not disturb those that come next: it fails the run. That is
 * asked after every file where files have several processes, else at the end. Then the runner
 * exits, whatever goes on (`exit` in .mocharc.json), and holds up no caller.
 */
import assert from "node:assert/strict";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

const patienceMs = 30_000;

export const mochaHooks = watching();

function watching() {
  let before: readonly string[] = [];
  return {
    async beforeAll(): Promise<void> {
      before = await active();
    },
    async afterAll(this: Mocha.Context): Promise<void> {
      this.timeout(2 * patienceMs);
      const end = performance.now() + patienceMs;
      let left = without(await active(), before);
      while (left.length > 0 && performance.now() < end) left = without(await active(), before);
      const files = new Set(this.test?.parent?.suites.map(({ file }) => path.relative("", file!)));
      const who = files.size === 1 ? [...files].join() : "the tests";
      assert.ok(left.length === 0, `${who} ended, but something goes on: ${left.join(", ")}`);
    },
  };
}

/** What keeps this process alive, by kind. */
async function active(): Promise<readonly string[]> {
  await setTimeout(10);
  return process.getActiveResourcesInfo();
}

function without(all: readonly string[], known: readonly string[]): readonly string[] {
  const rest = [...known];
  return all.filter((each) => {
    const at = rest.indexOf(each);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}
