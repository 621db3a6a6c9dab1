/** Responses to requests for the log of a container: text, or a WebSocket. */
import { withoutBearerProtocol } from "#authn";
import type { Domain } from "#meta";
import type { Exchange, ResponseStream } from "../transport/exchange.ts";
import { webSocketOf, WebSocketResponseStream } from "../transport/websocket.ts";

/** Media types that the route of logs produces. */
export const logTypes: readonly string[] = [
  "text/plain",
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

/** Size limit of a message in bytes, that of kube-apiserver's buffer. */
const messageBytes = 2048;

/** Subprotocols of a log over WebSocket: binary messages, or text messages with their base64. */
const binaryProtocol = "binary";
const base64Protocol = "base64.binary";

/**
 * The stream that a log is written to: a WebSocket if the client requests that upgrade. Undefined if it
 * offers only other subprotocols; it has been sent 403.
 */
export function logStream(exchange: Exchange, domain: Domain): ResponseStream | undefined {
  const upgrade = webSocketOf(exchange);
  if (upgrade === undefined) return exchange.response;
  const offered = withoutBearerProtocol(exchange.header("sec-websocket-protocol") ?? "", domain);
  const names = offered.split(",").map((name) => name.trim());
  const known = ["", `${binaryProtocol}.${domain.api}`, `${base64Protocol}.${domain.api}`];
  const protocol = names.find((name) => known.includes(name));
  if (protocol === undefined) {
    exchange.response.start(403, {});
    exchange.response.end();
    return undefined;
  }
  const isBase64 = protocol.startsWith(base64Protocol);
  return new WebSocketResponseStream(exchange, upgrade, {
    protocol,
    binary: !isBase64,
    split: isBase64 ? base64Messages : messages,
    greets: true,
  });
}

function* messages(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let from = 0; from < chunk.byteLength; from += messageBytes) {
    yield chunk.subarray(from, from + messageBytes);
  }
}

function* base64Messages(chunk: Uint8Array): Iterable<Uint8Array> {
  for (const message of messages(chunk)) yield Buffer.from(Buffer.from(message).toString("base64"));
}
