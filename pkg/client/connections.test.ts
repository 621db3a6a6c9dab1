import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { type Clock, systemClock } from "#base";
import { connections } from "./connections.ts";
import { ConnectionFault } from "./sending.ts";

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
    const send = connections({ endpoint, clock, signal: life.signal });
    const { signal } = new AbortController();
    return send({ method: "GET", path: "/", headers: {}, signal });
  }

  it("are given up when nobody answers, and the request was untouched", async () => {
    const { port } = server.address() as AddressInfo;
    await assert.rejects(sendTo(port, fast), (error) => {
      assert.ok(error instanceof ConnectionFault);
      return error.untouched;
    });
  });

  it("are refused at once where nobody listens", async () => {
    await assert.rejects(sendTo(1, systemClock), /^ConnectionFault: connect ECONNREFUSED/);
  });
});
