/** Port forwarding to the address in an annotation, or to a built-in response. */
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Pod } from "#kinds";
import { allowedTarget, annotatedTarget, isPort, portForwardAnnotation } from "#routing";
import { acceptChannels, type Channels } from "./streams/channels.ts";
import { acceptSpdy, spdyProtocolsOf } from "./streams/command-streams.ts";
import { SpdyConnection, type SpdyStream } from "./streams/spdy-connection.ts";
import {
  isWebSocketRequest,
  offeredProtocols,
  rejectUpgrade,
  tunnelOf,
  type Upgrade,
  WebSocketConnection,
} from "./streams/web-socket.ts";

export interface PortForward {
  readonly pod: Pod;
  readonly query: URLSearchParams;
  /** Suffix of the names of WebSocket subprotocols. */
  readonly api: string;
  /** Address ranges that annotations may specify. */
  readonly targets: readonly string[];
}

/** Data and error stream of a connection to a port of the pod. */
interface PortStreams {
  readonly port: number;
  readonly data: Duplex;
  readonly error: Duplex;
}

/** Connect timeout in ms. */
const connectMs = 10_000;
/** Maximum number of ports per WebSocket. */
const maxPorts = 32;
/** Maximum number of incomplete stream pairs. */
const maxPending = 64;

/** Serves a connection in an offered protocol, or rejects it. */
export function runPortForward(upgrade: Upgrade, forward: PortForward): void {
  const { request, socket } = upgrade;
  if (!isWebSocketRequest(request)) {
    const protocol = spdyProtocolsOf(upgrade).find((name) => name.startsWith("portforward."));
    if (protocol === undefined)
      return rejectUpgrade(socket, 403, "unable to negotiate a protocol\n");
    const transport = acceptSpdy(upgrade, protocol);
    return transport && forwardPairs(transport, forward);
  }
  const tunnel = offeredProtocols(request).find((name) => /^SPDY\/3\.1\+portforward\./i.test(name));
  if (tunnel !== undefined) {
    const connection = WebSocketConnection.accept(upgrade, tunnel);
    return connection && forwardPairs(tunnelOf(connection), forward);
  }
  const ports = forward.query
    .getAll("port")
    .flatMap((text) => text.split(","))
    .map(Number);
  const arePorts = ports.length > 0 && ports.length <= maxPorts && ports.every(isPort);
  if (!arePorts) return rejectUpgrade(socket, 400, 'query parameter "port" is required');
  const { api } = forward;
  const connection = acceptChannels(upgrade, { known: ["v4.channel", "v4.base64.channel"], api });
  if (connection !== undefined) forwardChannels(connection, ports, forward);
}

/** SPDY: pairs a data and an error stream by `requestID`. */
function forwardPairs(transport: Duplex, forward: PortForward): void {
  const pending = new Map<string, SpdyStream>();
  const accept = (stream: SpdyStream): boolean => {
    const { headers, id } = stream;
    const type = headers.get("streamtype");
    const port = Number(headers.get("port"));
    if ((type !== "error" && type !== "data") || !isPort(port)) return false;
    // Old clients send no request id: their streams alternate, error stream first.
    const key = headers.get("requestid") ?? String(type === "error" ? id : id - 2);
    const other = pending.get(key);
    if (other === undefined) {
      if (pending.size >= maxPending) return false;
      pending.set(key, stream);
      return true;
    }
    if (other.headers.get("streamtype") === type) return false;
    pending.delete(key);
    const [data, error] = type === "data" ? [stream, other] : [other, stream];
    setImmediate(() => void forwardPort({ port, data, error }, forward));
    return true;
  };
  void new SpdyConnection(transport, accept).run();
}

/** WebSocket: channel 2n of each port is data, 2n+1 errors; each starts with the port number. */
function forwardChannels(
  connection: Channels,
  ports: readonly number[],
  forward: PortForward,
): void {
  const opened: Duplex[] = [];
  const open = (port: number): Duplex => {
    const channel = opened.length;
    const head = Buffer.alloc(2);
    head.writeUInt16LE(port);
    const stream = new Duplex({
      read: () => connection.pause(false),
      write: (data: Buffer, _encoding, done) => connection.send(channel, data, done),
    });
    stream.on("error", () => undefined);
    stream.write(head);
    opened.push(stream);
    return stream;
  };
  const pairs = ports.map((port) => ({ port, data: open(port), error: open(port) }));
  connection.listen({
    message: (channel, data) => {
      if (opened[channel]?.push(data) === false) connection.pause(true);
    },
    end: () => {
      for (const stream of opened) stream.destroy();
    },
  });
  const all = pairs.map((pair) => forwardPort(pair, forward));
  void Promise.all(all).then(() => connection.close());
}

/** Forwards one connection. Resolves when it ends. */
async function forwardPort(
  { port, data, error }: PortStreams,
  forward: PortForward,
): Promise<void> {
  error.resume();
  const fail = (reason: string) => {
    const { namespace = "", name, uid } = forward.pod.metadata;
    const where = `port ${port} to pod ${namespace}/${name}, uid ${uid}`;
    error.end(`error forwarding ${where}: ${reason}`);
    data.destroy();
  };
  try {
    const target = annotatedTarget(forward.pod, port);
    if (target === undefined) await sendDefaultResponse(data, port, forward.pod);
    else await join(data, await dial(target, forward.targets));
    error.end();
  } catch (reason) {
    fail(reason instanceof Error ? reason.message : String(reason));
  }
}

/** Connects to an address in an allowed range; names are resolved once. */
async function dial(target: string, targets: readonly string[]): Promise<Socket> {
  const place = await allowedTarget(target, targets);
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, allowHalfOpen: true });
    const late = setTimeout(() => socket.destroy(new Error("timed out")), connectMs);
    const refused = ({ message }: Error) => reject(new Error(`dial ${target}: ${message}`));
    socket.once("error", refused);
    socket.once("close", () => clearTimeout(late));
    socket.once("connect", () => {
      clearTimeout(late);
      socket.off("error", refused);
      resolve(socket);
    });
  });
}

/** Copies bytes in both directions until both sides end or one fails. */
async function join(data: Duplex, socket: Socket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("close", () => resolve());
    data.once("close", () => socket.destroy());
    if (data.destroyed) socket.destroy();
    data.pipe(socket);
    socket.pipe(data);
  });
}

/** Responds to the first bytes of a client: to HTTP with HTTP, otherwise with a line of text. */
async function sendDefaultResponse(data: Duplex, port: number, { metadata }: Pod): Promise<void> {
  const { namespace = "", name } = metadata;
  const text =
    `simulated pod ${namespace}/${name}: nothing listens on port ${port}. ` +
    `The annotation ${portForwardAnnotation} can name an address to forward to.\n`;
  const first = await new Promise<string>((resolve) => {
    data.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1")));
    data.once("end", () => resolve(""));
    data.once("close", () => resolve(""));
  });
  const isHttp = /^[A-Z]{3,7} \S+ HTTP\/1\.[01]\r?\n/.test(first);
  const head =
    `HTTP/1.1 200 OK\r\nServer: keelson-simulated\r\nContent-Type: text/plain; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n`;
  data.end(isHttp ? `${head}${first.startsWith("HEAD ") ? "" : text}` : text);
  data.resume();
}
