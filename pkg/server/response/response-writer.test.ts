import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { seededRandom } from "#base";
import { StatusError } from "#meta";
import { ResponseWriter } from "./response-writer.ts";
import { ResponseBufferPool } from "./response-buffer-pool.ts";
import type { ResponseHeaders, ResponseStream } from "../transport/exchange.ts";
import { ClientGone } from "../transport/exchange.ts";
import { CountingResponseStream } from "../transport/counting-response-stream.ts";

/** Keeps what is written; every write is to be waited for when `slow`. */
class TestResponseStream extends CountingResponseStream {
  protected readonly common = {};
  readonly chunks: Uint8Array[] = [];
  headers: ResponseHeaders = {};
  ended = false;
  waiting = 0;

  constructor(private readonly slow = false) {
    super();
  }

  get closed(): boolean {
    return this.ended;
  }
  begin(_status: number, headers: ResponseHeaders): void {
    this.headers = headers;
  }
  flush(): void {}
  put(chunks: readonly Uint8Array[], free?: () => void): Promise<void> | undefined {
    assert.equal(this.waiting, 0, "nothing is written while there is no room");
    for (const chunk of chunks) this.chunks.push(Uint8Array.from(chunk));
    // Overwrites chunks that were sent: their memory may be reused.
    const sent = (): void => {
      for (const chunk of chunks) chunk.fill(0x21);
      free?.();
    };
    if (!this.slow) {
      sent();
      return undefined;
    }
    this.waiting += 1;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.waiting -= 1;
        sent();
        resolve();
      });
    });
  }
  finish(chunk?: Uint8Array): void {
    if (chunk !== undefined) this.chunks.push(Uint8Array.from(chunk));
    this.ended = true;
  }
  destroy(): void {}

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

const plenty = new ResponseBufferPool(64 * 2 ** 20, 1);

function writerTo(response: ResponseStream, gzipAbove?: number, memory = plenty): ResponseWriter {
  return new ResponseWriter(response, { status: 200, headers: {}, gzipAbove, memory });
}

describe("response writer", () => {
  for (const above of [undefined, 1024]) {
    it(`stops when the client disconnects${above === undefined ? "" : ", compressing"}`, async () => {
      const response = new TestResponseStream(true);
      const writer = writerTo(response, above);
      const piece = seededRandom(1).bytes(20_000);
      await writer.write(piece);
      await writer.write(piece);
      response.finish();
      const sent = response.sent;
      let written = 0;
      await assert.rejects(async () => {
        for (; written < 1_000; written++) await writer.write(piece);
      }, ClientGone);
      writer.abandon();
      assert.ok(written <= 10, `${written} pieces were taken`);
      assert.equal(response.sent, sent);
    });
  }

  it("announce their size when they are small", async () => {
    const response = new TestResponseStream();
    const writer = writerTo(response);
    await writer.write("grüße ");
    await writer.write(Buffer.from("world"));
    await writer.end();
    assert.equal(response.bytes.toString(), "grüße world");
    assert.equal(response.headers["content-length"], "13");
    assert.equal(response.chunks.length, 1);
  });

  for (const gzipAbove of [undefined, 20_000]) {
    it(`are the pieces in order, however they are written (gzip ${gzipAbove})`, async () => {
      const seed = Date.now() % 1_000_000_007;
      const random = seededRandom(seed);
      for (let round = 0; round < 30; round++) {
        const response = new TestResponseStream(random.below(2) === 0);
        const writer = writerTo(response, gzipAbove);
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
        writer.abandon();
        const whole = Buffer.concat(expected);
        const zipped = response.headers["content-encoding"] === "gzip";
        const got = zipped ? gunzipSync(response.bytes) : response.bytes;
        assert.ok(got.equals(whole), `${got.length} of ${whole.length} bytes, seed ${seed}`);
        assert.equal(zipped, gzipAbove !== undefined && whole.length > gzipAbove);
        assert.ok(response.ended);
      }
    });
  }

  it("share a fixed amount of memory, and are rejected with 429 beyond it", async () => {
    const memory = new ResponseBufferPool(40 * 4 * 16 * 1024, 3);
    const write = async (writer: ResponseWriter, bytes: number): Promise<void> => {
      for (let left = bytes; left > 0; left -= 1000) {
        await writer.reserve(1000);
        writer.at += writer.room.write("x".repeat(1000), writer.at);
      }
    };
    const streams = Array.from({ length: 40 }, () => new TestResponseStream(true));
    const writers = streams.map((response) => writerTo(response, undefined, memory));
    await Promise.all(writers.map((writer) => write(writer, 200_000)));
    await Promise.all(writers.map((writer) => write(writer, 200_000)));
    assert.ok(
      streams.every(({ chunks }) => chunks.at(-1)!.byteLength <= 17_000),
      "small chunks",
    );
    const small = new TestResponseStream();
    const one = writerTo(small, undefined, memory);
    await one.write("a small response needs none of it");
    await one.end();
    const late = writerTo(new TestResponseStream(), undefined, memory);
    await assert.rejects(write(late, 200_000), (error: unknown) => {
      return error instanceof StatusError && error.code === 429;
    });
    late.abandon();
    writers[0]!.abandon();
    await write(writerTo(new TestResponseStream(), undefined, memory), 200_000);
  });

  it("leave in chunks of a bounded size", async () => {
    const response = new TestResponseStream();
    const writer = writerTo(response);
    for (let i = 0; i < 2000; i++) {
      await writer.reserve(1100);
      writer.at += writer.room.write("x".repeat(1000), writer.at);
    }
    await writer.end();
    assert.equal(response.bytes.length, 2_000_000);
    assert.ok(response.chunks.every(({ byteLength }) => byteLength <= 128 * 1024));
  });
});
