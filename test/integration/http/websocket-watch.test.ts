/** Watches over WebSockets, as browsers and some client libraries use them. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Duplex } from "node:stream";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const textOpcode = 1;
const binaryOpcode = 2;
const closeOpcode = 8;
const pingOpcode = 9;
const pongOpcode = 10;

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** A WebSocket client: the received frames, and a method to send some. */
class Socket {
  private bytes = Buffer.alloc(0);
  private readonly frames: Frame[] = [];
  private wake: (() => void) | undefined;

  constructor(
    readonly answer: IncomingMessage,
    readonly socket: Duplex,
    head: Buffer,
  ) {
    socket.on("data", (chunk: Buffer) => this.take(chunk));
    socket.on("error", () => undefined);
    this.take(head);
  }

  send(opcode: number, payload: Buffer): void {
    const mask = randomBytes(4);
    const masked = payload.map((byte, index) => byte ^ mask[index % 4]!);
    assert(payload.length < 0x10000);
    const head =
      payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 255];
    head[0]! |= 0x80;
    this.socket.write(Buffer.concat([Buffer.from([0x80 | opcode, ...head]), mask, masked]));
  }

  async next(): Promise<Frame> {
    while (this.frames.length === 0) await new Promise<void>((done) => (this.wake = done));
    return this.frames.shift()!;
  }

  private take(chunk: Buffer): void {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    for (;;) {
      const short = this.bytes[1] ?? 0;
      const head = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (this.bytes.length < head) return;
      const size =
        short === 126
          ? this.bytes.readUInt16BE(2)
          : short === 127
            ? Number(this.bytes.readBigUInt64BE(2))
            : short;
      if (this.bytes.length < head + size) return;
      const opcode = this.bytes[0]! & 15;
      this.frames.push({ opcode, payload: this.bytes.subarray(head, head + size) });
      this.bytes = this.bytes.subarray(head + size);
      this.wake?.();
    }
  }
}

describe("watches over WebSockets", () => {
  let server: RunningServer;
  const maps = "/api/v1/namespaces/default/configmaps";
  const create = (name: string, data = {}) =>
    server.fetch(maps, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ metadata: { name }, data }),
    });

  before(async () => {
    server = await startServer({ port: 0, controllers: false });
  });
  after(() => server.close());

  async function open(path: string, headers: Record<string, string> = {}): Promise<Socket> {
    const key = randomBytes(16).toString("base64");
    const asked = request(server.url + path, {
      rejectUnauthorized: false,
      headers: {
        authorization: `Bearer ${server.token}`,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
        ...headers,
      },
    });
    asked.end();
    const [answer, socket, head] = await once(asked, "upgrade");
    const accept = `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const expected = createHash("sha1").update(accept).digest("base64");
    assert.equal(answer.headers["sec-websocket-accept"], expected);
    return new Socket(answer, socket, head);
  }

  it("sends each event as one text message", async () => {
    await create("small");
    await create("large", { text: "x".repeat(70_000) });
    const watch = await open(`${maps}?watch=1`, {
      "sec-websocket-protocol": `base64url.bearer.authorization.k8s.io.${token()}, mine`,
    });
    assert.equal(watch.answer.headers["sec-websocket-protocol"], "mine");
    const names: string[] = [];
    for (let count = 0; count < 3; count++) {
      if (count === 2) await create("later");
      const { opcode, payload } = await watch.next();
      assert.equal(opcode, textOpcode);
      const { type, object } = JSON.parse(payload.toString());
      names.push(`${type} ${object.metadata.name}`);
    }
    assert.deepEqual(names.sort(), ["ADDED large", "ADDED later", "ADDED small"]);
    watch.send(pingOpcode, Buffer.from("are you there"));
    assert.deepEqual(await watch.next(), {
      opcode: pongOpcode,
      payload: Buffer.from("are you there"),
    });
    watch.send(textOpcode, Buffer.alloc(60_000));
    watch.send(pingOpcode, Buffer.from("still"));
    assert.equal((await watch.next()).payload.toString(), "still");
    watch.send(closeOpcode, Buffer.alloc(0));
    await once(watch.socket, "close");
  });

  it("sends Protobuf as binary messages, and closes with code 1000 at its timeout", async () => {
    const watch = await open(`${maps}?watch=1&timeoutSeconds=1`, {
      accept: "application/vnd.kubernetes.protobuf;stream=watch",
    });
    const { opcode, payload } = await watch.next();
    assert.equal(opcode, binaryOpcode);
    assert.equal(payload.subarray(0, 7).toString("latin1"), "\n\x05ADDED");
    let last = await watch.next();
    while (last.opcode === binaryOpcode) last = await watch.next();
    assert.deepEqual(last, { opcode: closeOpcode, payload: Buffer.from([3, 232]) });
    watch.socket.destroy();
  });

  it("responds over HTTP to invalid handshakes and to requests that are not watches", async () => {
    const statusOf = async (path: string, headers: Record<string, string>) => {
      const common = { authorization: `Bearer ${server.token}`, connection: "Upgrade" };
      const asked = request(server.url + path, {
        rejectUnauthorized: false,
        headers: { ...common, upgrade: "websocket", ...headers },
      });
      asked.end();
      const [answer] = await once(asked, "response");
      answer.resume();
      await once(answer, "close");
      return answer.statusCode;
    };
    const handshake = { "sec-websocket-version": "13", "sec-websocket-key": "a".repeat(22) + "==" };
    assert.equal(await statusOf(`${maps}?watch=1`, {}), 400);
    assert.equal(await statusOf(`${maps}?watch=1&fieldSelector=a%3Db`, handshake), 400);
    assert.equal(await statusOf(maps, handshake), 200);
  });

  function token(): string {
    return Buffer.from(server.token).toString("base64url");
  }
});
