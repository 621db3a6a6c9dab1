import assert from "node:assert/strict";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Clock, systemClock } from "#base";
import { http2Transport } from "./connections.ts";
import { DeadlineExceeded } from "../deadline.ts";
import { ConnectionError } from "./transport.ts";

/** Time runs a thousand times as fast. */
const fast: Clock = {
  ...systemClock,
  sleep: (ms, signal, options) => systemClock.sleep(ms / 1_000, signal, options),
};

describe("connections", () => {
  let server: Server;
  const sockets = new Set<Socket>();
  const life = new AbortController();

  before(async () => {
    server = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  after(() => {
    life.abort();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  function sendTo(port: number, clock: Clock) {
    const url = new URL(`https://127.0.0.1:${port}`);
    const tls = { rejectUnauthorized: false };
    const endpoint = () => ({ url, tls, authorization: () => undefined });
    const send = http2Transport({ endpoint, clock, signal: life.signal });
    const { signal } = new AbortController();
    return send({ method: "GET", path: "/", headers: {}, signal });
  }

  it("fail when the peer does not respond, and the request was not processed", async () => {
    const { port } = server.address() as AddressInfo;
    await assert.rejects(sendTo(port, fast), (error) => {
      assert.ok(error instanceof ConnectionError);
      return error.isUnprocessed;
    });
  });

  it("fail immediately if the port is closed", async () => {
    await assert.rejects(sendTo(1, systemClock), /^ConnectionError: connect ECONNREFUSED/);
  });

  it("are not reused after a request timeout until a PING is acknowledged", async () => {
    const held: Socket[] = [];
    const behind = createHttp2Server((_request, response) => response.end());
    const front = createServer((socket) => {
      const other = connect((behind.address() as AddressInfo).port, "127.0.0.1");
      held.push(socket, other);
      socket.on("error", () => other.destroy()).pipe(other);
      other.on("error", () => socket.destroy()).pipe(socket);
    });
    for (const each of [behind, front]) {
      await new Promise<void>((resolve) => each.listen(0, "127.0.0.1", resolve));
    }
    const url = new URL(`http://127.0.0.1:${(front.address() as AddressInfo).port}`);
    const tls = { rejectUnauthorized: false };
    const endpoint = () => ({ url, tls, authorization: () => undefined });
    const send = http2Transport({ endpoint, clock: systemClock, signal: life.signal });
    const ask = (signal: AbortSignal) => send({ method: "GET", path: "/", headers: {}, signal });
    const patient = new AbortController();
    try {
      assert.equal((await ask(patient.signal)).status, 200);
      for (const socket of held) socket.unpipe();
      const late = new AbortController();
      const answer = ask(late.signal);
      late.abort(new DeadlineExceeded(1));
      await assert.rejects(answer, DeadlineExceeded);
      assert.equal((await ask(patient.signal)).status, 200);
    } finally {
      for (const socket of held) socket.destroy();
      for (const each of [behind, front]) each.close();
    }
  });
});
