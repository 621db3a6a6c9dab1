import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { seededRandom } from "#base";
import { AnswerWriter } from "./answer.ts";
import type { AnswerHeaders, Sink } from "./exchange.ts";

/** Keeps what is written; every write is to be waited for when `slow`. */
class TestSink implements Sink {
  readonly chunks: Uint8Array[] = [];
  headers: AnswerHeaders = {};
  started = false;
  ended = false;
  waiting = 0;

  constructor(private readonly slow = false) {}

  start(_status: number, headers: AnswerHeaders): void {
    this.started = true;
    this.headers = headers;
  }
  flush(): void {}
  write(chunk: Uint8Array): Promise<void> | undefined {
    assert.equal(this.waiting, 0, "nothing is written while there is no room");
    this.chunks.push(Uint8Array.from(chunk));
    if (!this.slow) return undefined;
    this.waiting += 1;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.waiting -= 1;
        resolve();
      });
    });
  }
  end(chunk?: Uint8Array): void {
    if (chunk !== undefined) this.chunks.push(Uint8Array.from(chunk));
    this.ended = true;
  }
  destroy(): void {}

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

function writerTo(sink: Sink, gzipAbove?: number): AnswerWriter {
  return new AnswerWriter(sink, { status: 200, headers: {}, gzipAbove });
}

describe("answers", () => {
  it("announce their size when they are small", async () => {
    const sink = new TestSink();
    const writer = writerTo(sink);
    await writer.write("grüße ");
    await writer.write(Buffer.from("world"));
    await writer.end();
    assert.equal(sink.bytes.toString(), "grüße world");
    assert.equal(sink.headers["content-length"], "13");
    assert.equal(sink.chunks.length, 1);
  });

  for (const gzipAbove of [undefined, 20_000]) {
    it(`are the pieces in order, however they are written (gzip ${gzipAbove})`, async () => {
      const seed = Date.now() % 1_000_000_007;
      const random = seededRandom(seed);
      for (let round = 0; round < 30; round++) {
        const sink = new TestSink(random.below(2) === 0);
        const writer = writerTo(sink, gzipAbove);
        const expected: Buffer[] = [];
        for (let pieces = random.below(60); pieces > 0; pieces--) {
          const length = random.below(4) === 0 ? random.below(200_000) : random.below(3000);
          const text = "aé"[random.below(2)]!.repeat(length);
          expected.push(Buffer.from(text));
          if (random.below(2) === 0) {
            await writer.write(random.below(2) === 0 ? text : Buffer.from(text));
            continue;
          }
          const wait = writer.reserve(Buffer.byteLength(text) + random.below(50));
          writer.at += writer.room.write(text, writer.at);
          await wait;
        }
        await writer.end();
        const whole = Buffer.concat(expected);
        const zipped = sink.headers["content-encoding"] === "gzip";
        const got = zipped ? gunzipSync(sink.bytes) : sink.bytes;
        assert.ok(got.equals(whole), `${got.length} of ${whole.length} bytes, seed ${seed}`);
        assert.equal(zipped, gzipAbove !== undefined && whole.length > gzipAbove);
        assert.ok(sink.ended);
      }
    });
  }

  it("leave in chunks of a bounded size", async () => {
    const sink = new TestSink();
    const writer = writerTo(sink);
    for (let i = 0; i < 2000; i++) {
      await writer.reserve(1100);
      writer.at += writer.room.write("x".repeat(1000), writer.at);
    }
    await writer.end();
    assert.equal(sink.bytes.length, 2_000_000);
    assert.ok(sink.chunks.every(({ byteLength }) => byteLength <= 128 * 1024));
  });
});
