/**
 * Replays recordings of Kubernetes' controllers (`../shared/cluster-stories`, skipped if absent) with the
 * controllers of one process. cluster-stories.json lists recordings that cannot be replayed with the
 * reason; a recording that is neither listed nor replayed fails.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { type RunningServer, startServer } from "../../../pkg/controlplane/index.ts";
import { root } from "../../tidy/source.ts";

const folder = path.join(root, "../shared/cluster-stories");
const list = path.join(import.meta.dirname, "cluster-stories.json");

/** Names of the replayed recordings, and the others with the reason. */
interface Stories {
  readonly replayed: readonly string[];
  readonly later: Readonly<Record<string, readonly string[]>>;
}

/** Number of recordings that may be replayed again. */
const maxRepeated = 2;

interface Report {
  readonly all: readonly {
    readonly story: string;
    readonly ok: boolean;
    readonly results: object;
  }[];
  readonly skipped: readonly string[];
}

const stories = JSON.parse(readFileSync(list, "utf8")) as Stories;

function storiesIn(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith(".json"))
    .map((file) => JSON.parse(readFileSync(path.join(directory, file), "utf8")))
    .filter(({ steps }) => steps !== undefined)
    .map(({ name }) => name);
}

/** Replays recordings against a server, concurrently, since they mostly wait. */
async function replay(server: RunningServer, names: readonly string[]): Promise<Report> {
  const player = path.join(folder, "cluster-replay.mjs");
  const files = names.map((name) => path.join(folder, `${name}.json`));
  const options = ["--json", "--parallel", "12", "--patience", "2"];
  const words = [player, "check", server.url, server.token, ...files, ...options];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout)) as Report;
}

describe("recordings of Kubernetes' controllers", () => {
  let server: RunningServer;
  before(async function () {
    if (!existsSync(folder)) this.skip();
    server = await startServer({ port: 0, bootstrapTokens: true, report: () => undefined });
  });
  after(() => server?.close());

  it("are each listed once", () => {
    const listed = [...stories.replayed, ...Object.values(stories.later).flat()];
    assert.deepEqual(listed.toSorted(), storiesIn(folder).toSorted());
  });

  it("end in the recorded state", async () => {
    const { all, skipped } = await replay(server, stories.replayed);
    const failed = all.filter(({ ok }) => !ok);
    // A periodic task of a controller may run between two steps of a recording, at most of a few.
    if (failed.length <= maxRepeated) await assertReplayed(failed.map(({ story }) => story));
    else assert.fail(JSON.stringify(failed, null, 1));
    assert.deepEqual(skipped, []);
    assert.equal(all.length, stories.replayed.length);
  });

  async function assertReplayed(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const { all } = await replay(server, names);
    const failed = all.filter(({ ok }) => !ok);
    assert.deepEqual(failed, [], JSON.stringify(failed, null, 1));
    assert.equal(all.length, names.length);
  }
});
