import assert from "node:assert/strict";
import type { ItemEvent, WatchOptions } from "../contract.ts";
import { refusal, testRegistry, type TestRegistry } from "../testing.ts";

const maps = "v1/configmaps/ns";

/** `ADDED a@7`, `BOOKMARK @9 end`, `ERROR 410 Expired`. */
function summaryOf(event: ItemEvent): string {
  switch (event.type) {
    case "BOOKMARK":
      return `BOOKMARK @${event.revision}${event.initialEventsEnd ? " end" : ""}`;
    case "ERROR":
      return `ERROR ${event.status.code} ${event.status.reason}`;
    default: {
      const { name, resourceVersion } = event.item.object.metadata;
      return `${event.type} ${name}@${resourceVersion}`;
    }
  }
}

describe("watch events", () => {
  let api: TestRegistry;
  beforeEach(async () => {
    api = await testRegistry({ namespaces: ["ns", "other"] });
  });

  const fill = async (names: string): Promise<void> => {
    for (const name of names) {
      const labels = { odd: "aceg".includes(name) ? "y" : "n" };
      await api.post(maps, { metadata: { name, labels }, data: { k: name } });
    }
  };
  /** The first `count` events of a watch. */
  const seen = async (
    path: string,
    options: Partial<WatchOptions>,
    count: number,
  ): Promise<string[]> => {
    const events: string[] = [];
    if (count === 0) return events;
    for await (const event of api.watch(path, options)) {
      events.push(summaryOf(event));
      if (events.length === count || event.type === "ERROR") break;
    }
    return events;
  };

  it("are ADDED and DELETED when an object begins and ceases to match the selector", async () => {
    const from = String(await api.store.revision());
    const x = `${maps}/x`;
    const labelled = (app: string, n: string) => ({ metadata: { labels: { app } }, data: { n } });
    const made = await api.post(maps, { metadata: { name: "x", labels: { app: "web" } } });
    const r = made.item.revision;
    await api.patch(x, labelled("web", "2"));
    await api.patch(x, labelled("db", "3"));
    await api.patch(x, labelled("db", "4"));
    await api.patch(x, labelled("web", "5"));
    await api.remove(x);
    const at = (step: number) => `x@${r + step}`;
    assert.deepEqual(await seen(maps, { resourceVersion: from }, 6), [
      `ADDED ${at(0)}`,
      `MODIFIED ${at(1)}`,
      `MODIFIED ${at(2)}`,
      `MODIFIED ${at(3)}`,
      `MODIFIED ${at(4)}`,
      `DELETED ${at(5)}`,
    ]);
    assert.deepEqual(await seen(maps, { resourceVersion: from, labelSelector: "app=web" }, 5), [
      `ADDED ${at(0)}`,
      `MODIFIED ${at(1)}`,
      `DELETED ${at(2)}`,
      `ADDED ${at(4)}`,
      `DELETED ${at(5)}`,
    ]);
    const web = { resourceVersion: from, labelSelector: "app=web" };
    for await (const event of api.watch(maps, web)) {
      if (event.type !== "DELETED") continue;
      assert.equal(event.item.object.data.n, "2");
      break;
    }
  });

  it("begin with the existing objects and an annotated bookmark", async () => {
    await fill("ab");
    const b = await api.store.revision();
    const initial = [`ADDED a@${b - 1}`, `ADDED b@${b}`];
    const end = `BOOKMARK @${b} end`;
    const streaming = {
      sendInitialEvents: true,
      resourceVersionMatch: "NotOlderThan",
      allowBookmarks: true,
    };
    assert.deepEqual(await seen(maps, {}, 2), initial);
    assert.deepEqual(await seen(maps, { resourceVersion: "0" }, 2), initial);
    const zero = { resourceVersion: "0", allowBookmarks: true };
    assert.deepEqual(await seen(maps, zero, 3), [...initial, end]);
    assert.deepEqual(await seen(maps, streaming, 3), [...initial, end]);
    assert.deepEqual(await seen(maps, { ...streaming, fieldSelector: "metadata.name=b" }, 2), [
      initial[1],
      end,
    ]);
    const later = { ...streaming, resourceVersion: "999999999" };
    assert.deepEqual(await seen(maps, later, 1), ["ERROR 504 Timeout"]);
  });

  it("end with ERROR 410 for a compacted resourceVersion", async () => {
    await fill("abc");
    await api.backend.compact(await api.store.revision());
    assert.deepEqual(await seen(maps, { resourceVersion: "1" }, 1), ["ERROR 410 Expired"]);
  });

  it("are not sent for invalid options, which are rejected immediately", async () => {
    const cases: readonly (readonly [Partial<WatchOptions>, RegExp])[] = [
      [{ resourceVersion: "abc" }, /^500 - resourceVersion: Invalid value: "abc"/],
      [{ continueToken: "x" }, /resourceVersionMatch is forbidden when continue is provided/],
      [{ resourceVersionMatch: "NotOlderThan" }, /is forbidden for watch unless sendInitialEvents/],
      [{ sendInitialEvents: true }, /sendInitialEvents requires setting resourceVersionMatch to /],
      [{ labelSelector: "a===" }, /^400/],
      [{ fieldSelector: "data=x" }, /^400/],
    ];
    for (const [options, wanted] of cases) {
      assert.match(await refusal(() => api.watch(maps, options)), wanted);
    }
  });
});
