import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";

/** The response of Go's net/http to plain HTTP on a TLS port. */
const response =
  "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/** Responds 400 to clients that send plain HTTP to the TLS port, instead of closing the connection. */
export function rejectPlainHttp(server: Http2SecureServer): void {
  // What is encrypted is another socket than the one beneath it, which has the same peer.
  const beneath = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    beneath.set(peer, socket);
    socket.once("close", () => beneath.delete(peer));
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== "ERR_SSL_HTTP_REQUEST") return;
    const plain = beneath.get(peerOf(socket));
    plain?.end(response, () => plain.destroy());
  });
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
