import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { StoreFault, type StoreEvent, type WatchBatch } from "../../backend.ts";
import { EventBuffer } from "./event-buffer.ts";
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

function told({ events, revision }: WatchBatch): string {
  const words = events.map((event) =>
    event.type === "put" ? `${event.entry.key.slice(1)}${event.entry.modRevision}` : "deleted",
  );
  return `${words.join(" ")}@${revision}`;
}

async function next(reader: AsyncGenerator<WatchBatch, void, undefined>): Promise<string> {
  const result = await reader.next();
  return result.done ? "end" : told(result.value);
}

describe("EventBuffer", () => {
  const never = new AbortController().signal;
  setMaxListeners(0, never);

  it("delivers to each reader what follows its start, in whole revisions", async () => {
    const buffer = new EventBuffer(4, limits);
    buffer.append(chunk("a5 b5 a7"));
    buffer.append(chunk("b8"));
    assert.equal(await next(buffer.read(5, never)), "a5 b5 a7 b8@8");
    assert.equal(await next(buffer.read(6, never)), "a7 b8@8");
    assert.equal(await next(buffer.read(8, never)), "b8@8");
  });

  it("wakes a waiting reader once, with all chunks that arrived meanwhile", async () => {
    const buffer = new EventBuffer(4, limits);
    const reader = buffer.read(5, never);
    const first = next(reader);
    buffer.append(chunk("b5"));
    buffer.append(chunk("a6"));
    buffer.append(chunk("b7 a7"));
    assert.equal(await first, "b5 a6 b7 a7@7");
  });

  it("ignores a chunk that it already has", async () => {
    const buffer = new EventBuffer(4, limits);
    buffer.append(chunk("a5"));
    buffer.append(chunk("a5"));
    assert.equal(await next(buffer.read(5, never)), "a5@5");
  });

  it("leaves out what precedes the start of a reader", async () => {
    const buffer = new EventBuffer(4, limits);
    const first = next(buffer.read(7, never));
    buffer.append(chunk("a5 a6"));
    buffer.append(chunk("a7"));
    assert.equal(await first, "a7@7");
  });

  it("notifies waiting readers of progress, after which they continue", async () => {
    const buffer = new EventBuffer(4, limits);
    const reader = buffer.read(5, never);
    const first = next(reader);
    buffer.append({ events: [], revision: 5, bytes: 0 });
    buffer.notifyProgress();
    assert.equal(await first, "@5");
    const second = next(reader);
    buffer.append(chunk("a6"));
    assert.equal(await second, "a6@6");
  });

  it("limits a batch to whole chunks", async () => {
    const buffer = new EventBuffer(4, { ...limits, batchEvents: 2 });
    for (const text of ["a5", "a6", "a7"]) buffer.append(chunk(text));
    const reader = buffer.read(5, never);
    assert.equal(await next(reader), "a5 a6@6");
    assert.equal(await next(reader), "a7@7");
  });

  it("exceeds its size only for a slow reader, up to a limit", async () => {
    const buffer = new EventBuffer(0, limits);
    for (let revision = 1; revision <= 50; revision += 1) buffer.append(chunk(`a${revision}`));
    assert.equal(buffer.oldest, 41);
    const reader = buffer.read(45, never);
    assert.equal(await next(reader), "a45 a46 a47 a48 a49 a50@50");
    for (let revision = 51; revision <= 75; revision += 1) buffer.append(chunk(`a${revision}`));
    assert.equal(buffer.oldest, 51);
    for (let revision = 76; revision <= 85; revision += 1) buffer.append(chunk(`a${revision}`));
    assert.equal(buffer.oldest, 76, "nothing is buffered for a reader that is too slow");
    await assert.rejects(reader.next(), (error: StoreFault) => error.detail.kind === "too-slow");
  });

  it("ends readers by their signal, and with a fault", async () => {
    const buffer = new EventBuffer(4, limits);
    const abort = new AbortController();
    const ended = next(buffer.read(5, abort.signal));
    abort.abort();
    assert.equal(await ended, "end");
    const waiting = next(buffer.read(5, never));
    buffer.append(chunk("a5"));
    const busy = buffer.read(5, never);
    assert.equal(await next(busy), "a5@5");
    const reader = buffer.read(6, never);
    const failing = next(reader);
    await waiting;
    buffer.fail(new StoreFault({ kind: "compacted", oldest: 9 }));
    await assert.rejects(failing, /compacted/);
    await assert.rejects(next(busy), /compacted/);
    assert.equal(buffer.ended, true);
  });
});
