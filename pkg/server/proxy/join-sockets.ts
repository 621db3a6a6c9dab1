import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Upgrade } from "../transport/exchange.ts";
import type { TunnelResponse } from "./tunnels.ts";

export type Upgraded = Extract<TunnelResponse, { readonly kind: "upgraded" }>;

/** Sends the response of the backend to the client, and passes bytes both ways until one end leaves. */
export async function joinSockets(
  { socket: near, head: sent }: Pick<Upgrade, "socket" | "head">,
  { socket: far, head, message }: Upgraded,
): Promise<void> {
  near.write(switching(message));
  near.write(head);
  far.write(sent);
  await bothWays(near, far);
}

function switching({ rawHeaders }: IncomingMessage): string {
  const lines: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  }
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`;
}

async function bothWays(near: Duplex, far: Duplex): Promise<void> {
  const left = Promise.race([near, far].map(gone));
  near.pipe(far);
  far.pipe(near);
  await left;
  await Promise.all([near, far].map(finish));
}

function gone(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    socket.on("error", () => resolve());
    socket.once("close", resolve);
  });
}

/** Time in ms for one end to take what the other sent before it left, and to leave as well. */
const lingerMs = 5_000;

/**
 * Sends what was written to the socket, and waits until the other end closes. Input is read and dropped
 * meanwhile: closing a socket with unread input resets the connection, and what is on its way is lost.
 */
function finish(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const late = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once("close", () => {
      clearTimeout(late);
      resolve();
    });
    socket.resume();
    socket.end();
  });
}
