import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerOptions, type ServerHttp2Stream } from "node:http2";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import type { Channel } from "./channel.ts";
import { failureOf } from "./failures.ts";
import { frameOf } from "./frames.ts";
import { encodeHeaders } from "./hpack.ts";
import { Http2Connection, type StreamEnd } from "./http2-connection.ts";
import {
  errorCode,
  flag,
  type Frame,
  frameBytes,
  FrameReader,
  frameType,
  preface,
} from "./http2-frames.ts";
import { withChannel } from "./testing.ts";

const path = "/etcdserverpb.KV/Range";
const request = Buffer.from("request");
const empty = Buffer.alloc(0);
const headers = encodeHeaders([["a", "b"]]);
const trailers = encodeHeaders([["grpc-status", "0"]]);

const call = (channel: Channel, message = request): Promise<Buffer> =>
  channel.call(path, message, { timeoutMs: 60_000 });

const failure = async (answer: Promise<unknown>): Promise<string> =>
  failureOf(await answer.catch((reason: unknown) => reason)).what;

/** Echoes each message through Node's HTTP/2. */
function echo(options: ServerOptions, seen: { now: number; most: number }): Server {
  const server = createServer(options);
  server.on("stream", (stream: ServerHttp2Stream) => {
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    stream.on("close", () => (seen.now -= 1));
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.pipe(stream);
  });
  return server;
}

type Frames = readonly (readonly [type: number, flags: number, stream: number, payload: Buffer])[];

const encoded = (frames: Frames): Buffer =>
  Buffer.concat(
    frames.map(([type, flags, stream, payload]) => frameBytes({ type, flags, stream, payload })),
  );

/** A member in raw frames: `receive` is called for each frame of the client. */
function rawMember(receive: (socket: Socket, frame: Frame) => void): Server {
  return createTcpServer((socket) => {
    const reader = new FrameReader();
    let skip = preface.length;
    socket.on("error", () => undefined);
    socket.write(encoded([[frameType.settings, 0, 0, empty]]));
    socket.on("data", (chunk: Buffer) => {
      const bytes = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - bytes.length;
      reader.take(bytes, (frame) => receive(socket, frame));
    });
  });
}

/** Answers the request on each stream with what `answer` writes. */
function member(answer: (socket: Socket, stream: number) => void): Server {
  return rawMember((socket, { type, flags, stream }) => {
    if (type === frameType.data && (flags & flag.endStream) !== 0) answer(socket, stream);
  });
}

const whole = (stream: number, message: Buffer): Frames => [
  [frameType.headers, flag.endHeaders, stream, headers],
  [frameType.data, 0, stream, frameOf(message)],
  [frameType.headers, flag.endHeaders | flag.endStream, stream, trailers],
];

describe("an HTTP/2 connection to etcd", () => {
  it("keeps to small windows of its peer, and enlarges its own", async () => {
    const settings = { initialWindowSize: 1_000 };
    const message = Buffer.alloc(12 * 2 ** 20, "message");
    await withChannel(echo({ settings }, { now: 0, most: 0 }), async (channel) => {
      for (let round = 0; round < 2; round++) {
        assert.ok((await call(channel, message)).equals(message));
      }
    });
  });

  it("opens as many streams as its peer allows, and the others later", async () => {
    const seen = { now: 0, most: 0 };
    const server = echo({ settings: { maxConcurrentStreams: 3 } }, seen);
    await withChannel(server, async (channel) => {
      await call(channel);
      const answers = await Promise.all(Array.from({ length: 50 }, () => call(channel)));
      assert.ok(answers.every((answer) => answer.equals(request)));
      assert.equal(seen.most, 3);
    });
  });

  it("reads responses in pieces of one byte, with padding and continued headers", async () => {
    const padding = Buffer.alloc(4);
    const padded = (part: Buffer): Buffer => Buffer.concat([Buffer.of(4), part, padding]);
    const server = member((socket, stream) => {
      const bytes = encoded([
        [frameType.headers, 0, stream, headers.subarray(0, 2)],
        [frameType.continuation, 0, stream, headers.subarray(2, 3)],
        [frameType.continuation, flag.endHeaders, stream, headers.subarray(3)],
        [frameType.data, flag.padded, stream, padded(frameOf(request))],
        [200, 0, stream, Buffer.from("of an extension")],
        [
          frameType.headers,
          flag.endHeaders | flag.endStream | flag.padded,
          stream,
          padded(trailers),
        ],
      ]);
      for (const byte of bytes) socket.write(Buffer.of(byte));
    });
    await withChannel(server, async (channel) => {
      assert.ok((await call(channel)).equals(request));
    });
  });

  it("takes no more streams when all identifiers are used, and ends with the last", async () => {
    const server = member((socket, stream) => socket.write(encoded(whole(stream, request))));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const left: string[] = [];
    const connection = new Http2Connection(socket, {
      windowBytes: 65_535,
      onSettings: () => undefined,
      onLeave: (reason) => left.push(reason),
      lastStream: 3,
    });
    const ends: StreamEnd[] = [];
    for (let opened = 0; opened < 2; opened++) {
      assert.equal(connection.isOpen, true);
      const closed = (end: StreamEnd) => ends.push(end);
      const observer = { headers: () => undefined, data: () => undefined, closed };
      connection.open(headers, observer).send(frameOf(request), true);
    }
    assert.deepEqual([connection.isOpen, left.length], [false, 1]);
    await once(socket, "close");
    assert.deepEqual(ends, ["complete", "complete"]);
    server.close();
  });

  it("tells which calls a member that goes away has not taken", async () => {
    let first: (() => void) | undefined;
    const server = member((socket, stream) => {
      if (first === undefined) {
        first = () => socket.write(encoded(whole(stream, request)));
        return;
      }
      const goaway = Buffer.alloc(8);
      goaway.writeUInt32BE(stream - 2);
      socket.write(encoded([[frameType.goaway, 0, 0, goaway]]));
    });
    await withChannel(server, async (channel) => {
      const taken = call(channel);
      assert.equal(await failure(call(channel)), "not-applied");
      assert.equal(await failure(call(channel)), "not-applied", "one that comes later");
      first?.();
      assert.ok((await taken).equals(request));
    });
  });

  it("tells that a call is lost whose response is cut anywhere", async () => {
    const bytes = encoded(whole(1, request));
    for (const length of [0, 5, 12, 20, 30, bytes.length - 1]) {
      const server = member((socket) => {
        socket.write(bytes.subarray(0, length));
        socket.end();
      });
      await withChannel(server, async (channel) => {
        assert.equal(await failure(call(channel)), "lost", `after ${length} bytes`);
        assert.equal(await failure(call(channel)), "not-applied");
      });
    }
  });

  for (const [what, code, frames] of [
    [
      "a frame that is too large",
      errorCode.frameSize,
      [[frameType.data, 0, 1, Buffer.alloc(16_385)]],
    ],
    ["a push", errorCode.protocol, [[frameType.pushPromise, 0, 1, Buffer.alloc(4)]]],
    [
      "headers that are not continued",
      errorCode.protocol,
      [
        [frameType.headers, 0, 1, headers],
        [frameType.data, 0, 1, empty],
      ],
    ],
    [
      "a dynamic table",
      errorCode.compression,
      [[frameType.headers, flag.endHeaders, 1, Buffer.of(0xbe)]],
    ],
    ["a short reset", errorCode.frameSize, [[frameType.rstStream, 0, 1, Buffer.of(0)]]],
  ] as readonly (readonly [string, number, Frames])[]) {
    it(`ends after ${what}`, async () => {
      let tell = (_code: number): void => undefined;
      const goaway = new Promise<number>((resolve) => (tell = resolve));
      const server = rawMember((socket, { type, payload }) => {
        if (type === frameType.goaway) tell(payload.readUInt32BE(4));
        if (type === frameType.data) socket.write(encoded(frames));
      });
      await withChannel(server, async (channel) => {
        assert.equal(await failure(call(channel)), "lost");
        assert.equal(await failure(call(channel)), "not-applied");
        assert.equal(await goaway, code);
      });
    });
  }
});
