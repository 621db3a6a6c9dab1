import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { StoreFault, type StoreEvent } from "../../backend.ts";
import { EventBuffer, inRange, type Batch } from "./event-buffer.ts";
import type { EventChunk } from "./watch-stream.ts";

const limits = { historyBytes: 100, lagBytes: 300, batchEvents: 1_000 };

function put(key: string, revision: number): StoreEvent {
  const entry = { key, value: new Uint8Array(), createRevision: revision, modRevision: revision };
  return { type: "put", entry, previous: undefined };
}

/** `a5 b5 a7` = puts of /a and /b at 5 and of /a at 7, as one chunk of 10 bytes per event. */
function chunk(text: string): EventChunk {
  const events = text.split(" ").map((word) => put(`/${word[0]}`, Number(word.slice(1))));
  const last = Number(text.slice(text.lastIndexOf(" ") + 2));
  return { events, revision: last, bytes: 10 * events.length };
}

function told({ events, revision }: Batch): string {
  const words = events.map((event) =>
    event.type === "put" ? `${event.entry.key.slice(1)}${event.entry.modRevision}` : "deleted",
  );
  return `${words.join(" ")}@${revision}`;
}

const onlyA = { from: "/a", to: "/b" };
const all = { from: "/", to: "0" };

async function next(reader: AsyncGenerator<Batch, void, undefined>): Promise<string> {
  const result = await reader.next();
  return result.done ? "end" : told(result.value);
}

describe("etcd event log", () => {
  const never = new AbortController().signal;
  setMaxListeners(0, never);

  it("gives each reader its range from its start, in whole revisions", async () => {
    const log = new EventBuffer(4, limits);
    log.append(chunk("a5 b5 a7"));
    log.append(chunk("b8"));
    assert.equal(await next(log.read(onlyA, 5, never)), "a5 a7@8");
    assert.equal(await next(log.read(onlyA, 6, never)), "a7@8");
    assert.equal(await next(log.read(all, 5, never)), "a5 b5 a7 b8@8");
  });

  it("wakes a waiting reader for its range only, and with all that came meanwhile", async () => {
    const log = new EventBuffer(4, limits);
    const reader = log.read(onlyA, 5, never);
    const first = next(reader);
    log.append(chunk("b5"));
    log.append(chunk("a6"));
    log.append(chunk("b7 a7"));
    assert.equal(await first, "a6 a7@7");
  });

  it("drops what it has already", async () => {
    const log = new EventBuffer(4, limits);
    log.append(chunk("a5"));
    log.append(chunk("a5"));
    assert.equal(await next(log.read(all, 5, never)), "a5@5");
  });

  it("does not give a reader what is before its start", async () => {
    const log = new EventBuffer(4, limits);
    const first = next(log.read(all, 7, never));
    log.append(chunk("a5 a6"));
    log.append(chunk("a7"));
    assert.equal(await first, "a7@7");
  });

  it("tells progress to waiting readers, who then go on after it", async () => {
    const log = new EventBuffer(4, limits);
    const reader = log.read(onlyA, 5, never);
    const first = next(reader);
    log.append(chunk("b5"));
    log.notifyProgress();
    assert.equal(await first, "@5");
    const second = next(reader);
    log.append(chunk("a6"));
    assert.equal(await second, "a6@6");
  });

  it("limits a batch to whole chunks", async () => {
    const log = new EventBuffer(4, { ...limits, batchEvents: 2 });
    for (const text of ["a5", "a6", "a7"]) log.append(chunk(text));
    const reader = log.read(all, 5, never);
    assert.equal(await next(reader), "a5 a6@6");
    assert.equal(await next(reader), "a7@7");
  });

  it("keeps history beyond its size only for a reader that lags, up to a limit", async () => {
    const log = new EventBuffer(0, limits);
    for (let revision = 1; revision <= 50; revision += 1) log.append(chunk(`a${revision}`));
    assert.equal(log.oldest, 41);
    const reader = log.read(all, 45, never);
    assert.equal(await next(reader), "a45 a46 a47 a48 a49 a50@50");
    for (let revision = 51; revision <= 75; revision += 1) log.append(chunk(`a${revision}`));
    assert.equal(log.oldest, 51);
    for (let revision = 76; revision <= 85; revision += 1) log.append(chunk(`a${revision}`));
    assert.equal(log.oldest, 76, "once it is cut off nothing is kept for it");
    await assert.rejects(reader.next(), (error: StoreFault) => error.detail.kind === "too-slow");
  });

  it("ends readers by their signal, and with a fault", async () => {
    const log = new EventBuffer(4, limits);
    const abort = new AbortController();
    const ended = next(log.read(all, 5, abort.signal));
    abort.abort();
    assert.equal(await ended, "end");
    const waiting = next(log.read(all, 5, never));
    log.append(chunk("a5"));
    const busy = log.read(all, 5, never);
    assert.equal(await next(busy), "a5@5");
    const reader = log.read(all, 6, never);
    const failing = next(reader);
    await waiting;
    log.fail(new StoreFault({ kind: "compacted", oldest: 9 }));
    await assert.rejects(failing, /compacted/);
    await assert.rejects(next(busy), /compacted/);
    assert.equal(log.ended, true);
  });

  it("compares keys by their bytes", () => {
    const high = put("/\u{1F600}", 1);
    const wants = inRange({ from: "/\uFFFD", to: "0" });
    assert.equal(wants(high), true, "U+1F600 is after U+FFFD in UTF-8, before it in UTF-16");
    assert.equal(inRange({ from: "/", to: "/\uFFFD" })(high), false);
  });
});
