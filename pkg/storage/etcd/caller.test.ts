import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { StoreFault } from "../backend.ts";
import { etcdBackend } from "./etcd-backend.ts";

describe("a call that etcd never answers", () => {
  it("fails with the reason of an earlier attempt when the last one runs out of time", async () => {
    const sockets: Socket[] = [];
    const member = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => undefined);
      // Resets the first connection, and is silent on the others.
      if (sockets.length === 1) socket.resetAndDestroy();
    });
    member.listen(0, "127.0.0.1");
    await once(member, "listening");
    const { port } = member.address() as AddressInfo;
    const endpoints = [`http://127.0.0.1:${port}`];
    const backend = etcdBackend({ endpoints, requestTimeoutMs: 1_000 });
    try {
      const write = { put: "/a", value: Buffer.from("v") };
      const failed = backend.txn({ compare: [], then: [write], otherwise: [] });
      await assert.rejects(failed, (error) => {
        assert.ok(error instanceof StoreFault && error.detail.kind === "unavailable");
        assert.equal(error.detail.maybeApplied, false);
        assert.match(error.detail.message, /Last error: .*ECONNRESET/);
        return true;
      });
      assert.ok(sockets.length > 1, "attempts");
    } finally {
      await backend[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      member.close();
    }
  });
});
