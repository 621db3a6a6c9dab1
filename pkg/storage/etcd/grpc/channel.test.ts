import assert from "node:assert/strict";
import { once } from "node:events";
import { constants, createServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import type { Channel } from "./channel.ts";
import { failureOf } from "./failures.ts";
import { frameOf, Frames } from "./frames.ts";
import { withChannel } from "./testing.ts";

const path = "/etcdserverpb.KV/Range";
const asked = Buffer.from("asked");

/** How a call ends at a server that answers so. */
async function outcome(answer: (stream: ServerHttp2Stream) => void): Promise<unknown> {
  const server = createServer();
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => undefined);
    answer(stream);
  });
  let result: unknown;
  await withChannel(server, async (channel) => {
    try {
      result = (await channel.call(path, asked, { timeoutMs: 500 })).toString();
    } catch (error) {
      result = failureOf(error);
    }
  });
  return result;
}

function respond(stream: ServerHttp2Stream, body: Buffer, trailers: Record<string, string>): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(body);
}

describe("a channel to etcd", () => {
  it("carries a message there and back", async () => {
    const answered = await outcome((stream) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => respond(stream, Buffer.concat(chunks), { "grpc-status": "0" }));
    });
    assert.equal(answered, "asked");
  });

  const details = "etcdserver%3A request is too large";
  for (const [how, answer] of [
    [
      "in the only headers",
      (stream: ServerHttp2Stream) =>
        stream.respond({ "grpc-status": "3", "grpc-message": details }, { endStream: true }),
    ],
    [
      "behind the body",
      (stream: ServerHttp2Stream) =>
        respond(stream, Buffer.alloc(0), { "grpc-status": "3", "grpc-message": details }),
    ],
  ] as const) {
    it(`reads a status ${how}`, async () => {
      const message = "etcdserver: request is too large";
      assert.deepEqual(await outcome(answer), { what: "too-large", message });
    });
  }

  for (const [how, what, answer] of [
    ["refused", "not-applied", (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM)],
    ["cut off", "lost", (stream) => stream.session?.destroy()],
    ["reset", "lost", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)],
    ["not answered", "late", () => undefined],
    ["half answered", "lost", (stream) => respond(stream, frameOf(asked), {})],
    [
      "answered with less than a message",
      "lost",
      (stream) => respond(stream, frameOf(asked).subarray(0, 7), { "grpc-status": "0" }),
    ],
  ] as readonly (readonly [string, string, (stream: ServerHttp2Stream) => void])[]) {
    it(`says what it means that a call was ${how}`, async () => {
      assert.equal(((await outcome(answer)) as { what: string }).what, what);
    });
  }

  it("names the HTTP status of an answer that is not gRPC", async () => {
    const answered = await outcome((stream) =>
      stream.respond({ ":status": 502 }, { endStream: true }),
    );
    const message = "Connection dropped: the HTTP status is 502";
    assert.deepEqual(answered, { what: "lost", message });
  });

  it("says that nothing was sent while there is no connection", async () => {
    await withChannel(createTcpServer(), async (channel) => {
      const error: unknown = await channel
        .call(path, asked, { timeoutMs: 50 })
        .catch((reason: unknown) => reason);
      assert.equal(failureOf(error).what, "not-applied");
    });
  });

  it("gives up a member that has fallen silent", async () => {
    const member = createServer((_request, response) => {
      response.stream.respond({ "grpc-status": "0" }, { endStream: true });
    });
    member.listen(0, "127.0.0.1");
    await once(member, "listening");
    const ways: Socket[] = [];
    const proxy = createTcpServer((socket) => {
      const onward = connect((member.address() as AddressInfo).port, "127.0.0.1");
      ways.push(socket, onward);
      socket.pipe(onward).pipe(socket);
    });
    const call = async (channel: Channel): Promise<string> => {
      const answered = channel.call(path, asked, { timeoutMs: 30_000 });
      return failureOf(await answered.catch((reason: unknown) => reason)).message;
    };
    const silence = async (channel: Channel) => {
      assert.match(await call(channel), /not a whole message/, "it answers");
      for (const way of ways) way.unpipe();
      assert.match(await call(channel), /Connection dropped: .*keepalive ping timed out/);
    };
    await withChannel(proxy, silence, { keepAliveMs: 1_000 });
    for (const way of ways) way.destroy();
    member.close();
  });
});

describe("frames of a stream", () => {
  const messages = ["", "a", "b".repeat(300)].map((text) => Buffer.from(text));
  const bytes = Buffer.concat(messages.map(frameOf));

  it("are found in pieces of every size", () => {
    for (let size = 1; size <= bytes.length; size += 1) {
      const frames = new Frames();
      const found: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        found.push(...frames.take(bytes.subarray(at, at + size)));
      }
      assert.deepEqual(found, messages, `${size} bytes at a time`);
    }
  });

  it("are refused when they are compressed", () => {
    assert.throws(() => new Frames().take(Buffer.from([1, 0, 0, 0, 0])), /not a plain message/);
  });
});
