import assert from "node:assert/strict";
import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { Cancel, Channel, RpcFault } from "./rpc.ts";

/** `data` goes out in pieces as given; each number is a pause in milliseconds. */
interface Answer {
  readonly data?: readonly (Buffer | number)[];
  readonly status?: number;
  readonly message?: string;
  /** Only headers, as for a call that fails at once. */
  readonly headersOnly?: boolean;
  readonly hangs?: boolean;
  readonly reset?: number;
}

function frame(text: string): Buffer {
  const bytes = Buffer.from(text);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("etcd rpc", () => {
  let server: Http2Server;
  let answer: Answer;
  let channel: Channel;
  let sessions: ServerHttp2Session[];
  const received: { path: string | undefined; headers: object; body: Buffer }[] = [];

  beforeEach(async () => {
    received.length = 0;
    sessions = [];
    server = createServer();
    server.on("session", (session) => sessions.push(session));
    server.on("stream", (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on("error", () => undefined);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const body = Buffer.concat(chunks);
        received.push({ path: headers[":path"], headers, body });
        if (answer.hangs) return;
        if (answer.reset !== undefined) return stream.close(answer.reset);
        const { status = 0, message = "", data = [] } = answer;
        const ending = { "grpc-status": String(status), "grpc-message": message };
        if (answer.headersOnly) return stream.respond(ending, { endStream: true });
        stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers(ending));
        for (const piece of data) {
          if (typeof piece === "number") await pause(piece);
          else stream.write(piece);
        }
        stream.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    channel = new Channel({ url: urlOf(), tls: undefined, keepAliveMs: 60 });
  });
  afterEach(async () => {
    channel.close();
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const faultOf = async (work: Promise<unknown>): Promise<string> => {
    const error: unknown = await work.then(
      () => assert.fail("a fault was expected"),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof RpcFault, String(error));
    return `${error.what} ${error.status} ${error.message}`;
  };

  const call = (timeoutMs = 2000): Promise<Buffer> =>
    channel.call("/x.Y/Z", Buffer.from("question"), { timeoutMs });

  it("sends one message and brings one back, in however many pieces", async () => {
    const bytes = frame("the answer");
    answer = { data: [bytes.subarray(0, 3), 5, bytes.subarray(3, 9), 5, bytes.subarray(9)] };
    assert.equal((await call()).toString(), "the answer");
    const [request] = received;
    assert.equal(request?.path, "/x.Y/Z");
    assert.deepEqual(request?.body, frame("question"));
    assert.ok(request !== undefined);
    const { te, hasleader } = request.headers as Record<string, string>;
    assert.deepEqual([te, hasleader], ["trailers", "true"]);
    answer = { data: [frame("")] };
    assert.equal((await call()).length, 0);
    assert.equal(sessions.length, 1, "one connection for all");
  });

  it("tells what the other end said", async () => {
    answer = { status: 11, message: "required revision has been compacted%21" };
    assert.equal(await faultOf(call()), "status 11 required revision has been compacted!");
    answer = { status: 14, message: "etcdserver: no leader", headersOnly: true };
    assert.equal(await faultOf(call()), "status 14 etcdserver: no leader");
  });

  it("knows whether the request was taken", async () => {
    answer = { reset: 7 };
    assert.match(await faultOf(call()), /^unsent/);
    answer = { reset: 2 };
    assert.match(await faultOf(call()), /^lost/);
    answer = { hangs: true };
    const hanging = faultOf(call());
    await pause(30);
    sessions[0]!.destroy();
    assert.match(await hanging, /^lost/);
    answer = { data: [frame("again")] };
    assert.equal((await call()).toString(), "again", "over a new connection");
    const nobody = new Channel({ url: "http://127.0.0.1:1", tls: undefined, keepAliveMs: 1000 });
    const refused = nobody.call("/x", Buffer.alloc(0), { timeoutMs: 500 });
    assert.match(await faultOf(refused), /^unsent 14 No connection established.*ECONNREFUSED/);
    nobody.close();
  });

  it("gives up in time, and when it is told to", async () => {
    answer = { hangs: true };
    const started = Date.now();
    assert.match(await faultOf(call(80)), /^late 4/);
    assert.ok(Date.now() - started < 1000);
    const cancel = new Cancel();
    const canceled = faultOf(channel.call("/x", Buffer.alloc(0), { cancel }));
    await pause(20);
    cancel.cancel();
    assert.match(await canceled, /^canceled/);
    assert.match(await faultOf(channel.call("/x", Buffer.alloc(0), { cancel })), /^canceled/);
  });

  it("goes to a new connection when the old one takes no more calls", async () => {
    answer = { data: [frame("a")] };
    await call();
    sessions[0]!.goaway();
    await pause(20);
    await call();
    assert.equal(sessions.length, 2);
  });

  it("reads a stream message by message until it is canceled", async () => {
    const frames = Buffer.concat([frame("one"), frame("two"), frame("x".repeat(100_000))]);
    answer = { data: [frames.subarray(0, 12), 5, frames.subarray(12), 5000] };
    const stream = await channel.stream("/x.Y/Watch");
    stream.end(Buffer.from("begin"));
    const seen: number[] = [];
    for await (const message of stream) {
      seen.push(message.length);
      if (seen.length === 3) break;
    }
    assert.deepEqual(seen, [3, 3, 100_000]);
    assert.deepEqual(received[0]?.body, frame("begin"));
  });

  it("ends a stream whose connection is lost, and one that the other end refuses", async () => {
    answer = { data: [frame("one"), 5000] };
    const stream = await channel.stream("/x");
    stream.end(Buffer.alloc(0));
    const all = (async () => {
      for await (const message of stream) if (message.length === 3) sessions[0]!.destroy();
    })();
    assert.match(await faultOf(all), /^lost/);
    answer = { status: 8, message: "no", headersOnly: true };
    const refused = await channel.stream("/x");
    refused.end(Buffer.alloc(0));
    const none = (async () => {
      for await (const _message of refused) assert.fail("nothing comes");
    })();
    assert.equal(await faultOf(none), "status 8 no");
  });

  it("gives a connection up that does not answer probes", async () => {
    const sockets: Socket[] = [];
    const between = createTcpServer((near) => {
      const far = connect((server.address() as AddressInfo).port);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) sockets.push(socket.on("error", () => undefined));
    });
    await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
    const through = new Channel({ url, tls: undefined, keepAliveMs: 60 });
    answer = { data: [200, frame("slow but alive")] };
    const slow = await through.call("/x", Buffer.alloc(0), { timeoutMs: 2000 });
    assert.equal(slow.toString(), "slow but alive");
    answer = { hangs: true };
    const hanging = faultOf(through.call("/x", Buffer.alloc(0), { timeoutMs: 5000 }));
    await pause(20);
    const started = Date.now();
    for (const socket of sockets) socket.unpipe().pause();
    assert.match(await hanging, /^lost 14 keepalive/);
    assert.ok(Date.now() - started < 2000);
    through.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => between.close(resolve));
  });
});
