import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { gather, Life } from "./incoming-request.ts";

describe("bodies of requests", () => {
  const common = { limit: 100, milliseconds: 10_000 };
  const turn = () => new Promise((done) => setImmediate(done));

  for (const announced of [undefined, 6]) {
    it(`arrive once, of ${announced ?? "no"} announced bytes, while an observer waits`, async () => {
      const stream = new PassThrough();
      const told: string[] = [];
      let handOn = (): void => assert.fail("not arrived");
      const body = gather(stream, {
        ...common,
        announced,
        life: new Life(),
        observer: {
          waiting: () => told.push("waiting"),
          received: (bytes) => told.push(`received ${bytes}`),
          arrived: () => {
            told.push("arrived");
            return new Promise<void>((resolve) => (handOn = resolve));
          },
          ended: () => told.push("ended"),
        },
      });
      stream.write("abc");
      await turn();
      stream.write("def");
      await turn();
      stream.end();
      await turn();
      stream.read();
      await turn();
      handOn();
      assert.equal(Buffer.from(await body).toString(), "abcdef");
      assert.deepEqual(told, ["waiting", "received 3", "received 3", "arrived", "ended"]);
    });
  }

  it("are empty if the end of an empty stream was emitted before", async () => {
    const stream = new PassThrough().resume().end();
    while (!stream.readableEnded) await turn();
    assert.equal((await gather(stream, { ...common, life: new Life() })).byteLength, 0);
  });

  it("fail above the size limit, and are read to their end", async () => {
    const stream = new PassThrough();
    const body = gather(stream, { ...common, announced: 50, life: new Life() });
    stream.write("x".repeat(101));
    await assert.rejects(body);
    stream.end("more");
    await turn();
    await turn();
    assert.equal(stream.readableEnded, true);
  });
});
