import assert from "node:assert/strict";
import { constants, createDeflate, deflateSync } from "node:zlib";
import { dictionary, emptyHeaderBlock, HeaderReader } from "./spdy-headers.ts";

function block(pairs: Readonly<Record<string, string>>): Buffer {
  const sized = (text: string) => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(text.length);
    return Buffer.concat([size, Buffer.from(text)]);
  };
  const count = Buffer.alloc(4);
  count.writeUInt32BE(Object.keys(pairs).length);
  return Buffer.concat([count, ...Object.entries(pairs).flat().map(sized)]);
}

describe("SPDY header blocks", () => {
  let reader: HeaderReader;
  beforeEach(() => {
    reader = new HeaderReader();
  });
  afterEach(() => reader.close());

  it("are decoded one after another from one zlib stream with the dictionary", async () => {
    const deflate = createDeflate({ dictionary });
    const compressed = (data: Buffer) =>
      new Promise<Buffer>((resolve) => {
        deflate.write(data);
        deflate.flush(constants.Z_SYNC_FLUSH, () => resolve(deflate.read() as Buffer));
      });
    for (const pairs of [{ streamtype: "error", port: "80" }, { streamtype: "data" }]) {
      const read = await reader.read(await compressed(block(pairs)));
      assert.deepEqual(Object.fromEntries(read), pairs);
    }
    deflate.close();
  });

  it("may be empty and stored", async () => {
    for (const isFirst of [true, false]) {
      assert.equal((await reader.read(emptyHeaderBlock(isFirst))).size, 0);
    }
  });

  for (const [what, bytes] of [
    ["bombs", deflateSync(Buffer.alloc(10_000_000), { dictionary })],
    ["lengths beyond their end", deflateSync(block({ a: "b" }).fill(0xff, 4, 8), { dictionary })],
    ["bytes that are not compressed", Buffer.from("plain text")],
  ] as const) {
    it(`are rejected: ${what}`, () => assert.rejects(reader.read(bytes)));
  }
});
