import type { Server, Socket } from "node:net";

/**
 * Makes Node buffer the data of HTTP/1.1 connections over TLS while their parser is paused. Every HTTPS
 * server needs it. Node pauses the parser if a request arrives before the previous response has drained.
 * While Node's parser reads a TLS socket natively, the records that were already received still reach
 * it: it fails with HPE_PAUSED, and the connection is closed without a response. A `data` listener
 * switches the socket to stream mode, in which a paused socket buffers. Plain sockets stop reading at
 * once and need no such switch.
 */
export function bufferWhileParserPaused(server: Server): void {
  server.on("secureConnection", (socket: Socket & { readonly alpnProtocol?: string | false }) => {
    if (socket.alpnProtocol === "h2") return;
    socket.on("data", ignoreData);
    // Node's own listener remains.
    socket.off("data", ignoreData);
  });
}

const ignoreData = (): void => undefined;
