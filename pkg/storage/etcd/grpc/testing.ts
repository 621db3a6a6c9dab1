import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { Channel, type RunningCall } from "./channel.ts";

/**
 * Runs `use` with a channel to a server, and closes both. `keepAliveMs` of the channel is by default
 * longer than a test.
 * @throws AssertionError if the channel retains a call that has ended
 */
export async function withChannel(
  server: Server,
  use: (channel: Channel) => Promise<void>,
  { keepAliveMs = 60_000 }: { readonly keepAliveMs?: number } = {},
): Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const running = new Set<RunningCall>();
  const channel = new Channel({ endpoint: `127.0.0.1:${port}`, keepAliveMs, running });
  try {
    await use(channel);
    assert.equal(running.size, 0, "the channel holds calls that have ended");
  } finally {
    channel.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}
