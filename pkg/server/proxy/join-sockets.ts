import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Upgrade } from "../transport/exchange.ts";
import type { TunnelResponse } from "./tunnels.ts";

export type Upgraded = Extract<TunnelResponse, { readonly kind: "upgraded" }>;

/** Sends the 101 response to the client and copies bytes in both directions until one side closes. */
export async function joinSockets(
  { socket: client, head: clientHead }: Pick<Upgrade, "socket" | "head">,
  { socket: backend, head: backendHead, message }: Upgraded,
): Promise<void> {
  client.write(switchingProtocols(message));
  client.write(backendHead);
  backend.write(clientHead);
  await copyBothWays(client, backend);
}

function switchingProtocols({ rawHeaders }: IncomingMessage): string {
  const lines: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  }
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`;
}

async function copyBothWays(client: Duplex, backend: Duplex): Promise<void> {
  const eitherClosed = Promise.race([client, backend].map(closed));
  client.pipe(backend);
  backend.pipe(client);
  await eitherClosed;
  await Promise.all([client, backend].map(finish));
}

function closed(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    socket.on("error", () => resolve());
    socket.once("close", resolve);
  });
}

/** Time in ms for one side to read the remaining data after the other has closed, and to close. */
const lingerMs = 5_000;

/**
 * Sends the written data and waits until the peer closes. Input is read and discarded meanwhile, since
 * closing a socket with unread input resets the connection and loses data in transit.
 */
function finish(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.resume();
    socket.end();
  });
}
