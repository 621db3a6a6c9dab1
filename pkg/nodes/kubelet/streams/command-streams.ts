/** Streams of a remote command: channels of a WebSocket, or SPDY streams. */
import type { Duplex } from "node:stream";
import { SpdyConnection, type SpdyStream } from "./spdy-connection.ts";
import { acceptChannels, type Channels } from "./channels.ts";
import { isWebSocketRequest, offeredProtocols, rejectUpgrade, type Upgrade } from "./web-socket.ts";

/** Streams that the client requests. */
export interface RequestedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Callbacks of a command. */
export interface CommandHandlers {
  /** Called when all streams are open. */
  start(streams: CommandStreams): void;
  input(data: Buffer): void;
  inputEnd(): void;
}

export interface CommandStreams {
  write(stream: "stdout" | "stderr", data: Uint8Array | string): void;
  /** Sends the exit status and closes the connection. */
  finish(status: ExitStatus): void;
}

/** Exit status of a command, a metav1.Status. */
export interface ExitStatus {
  readonly status: "Success" | "Failure";
  readonly message?: string;
}

/** Channels of a WebSocket. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;
/** Time in ms that a client has to open all streams: the kubelet's `streamCreationTimeout`. */
const openMs = 30_000;

/**
 * Start delay in ms of a command. kubectl may drop data that arrives together with the handshake response.
 */
const startMs = 20;

export interface CommandConnection {
  readonly wanted: RequestedStreams;
  /** Suffix of the names of WebSocket subprotocols. */
  readonly api: string;
}

/** Accepts the connection in an offered protocol, or rejects it. */
export function openCommandStreams(
  upgrade: Upgrade,
  { wanted, api }: CommandConnection,
  handlers: CommandHandlers,
): void {
  if (!isWebSocketRequest(upgrade.request)) return openSpdy(upgrade, wanted, handlers);
  const connection = acceptChannels(upgrade, { known: channelVersions(upgrade, api), api });
  if (connection === undefined) return;
  const lowest = wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.error;
  // Announces the connection, as a kubelet does.
  connection.send(lowest, "");
  setTimeout(() => startOnChannels(connection, wanted, handlers), startMs).unref();
}

/** A kubelet's subprotocols, and version 5, which kube-apiserver prefers to all others. */
function channelVersions({ request }: Upgrade, api: string): readonly string[] {
  if (offeredProtocols(request).includes(`v5.channel.${api}`)) return ["v5.channel"];
  return ["channel", "base64.channel", "v4.channel", "v4.base64.channel"];
}

function startOnChannels(
  connection: Channels,
  wanted: RequestedStreams,
  handlers: CommandHandlers,
): void {
  const { name } = connection.protocol;
  handlers.start({
    write: (stream, data) => {
      if (wanted[stream]) connection.send(channels[stream], data);
    },
    finish: (status) => {
      const hasStatus = name.startsWith("v4.") || name.startsWith("v5.");
      const text = hasStatus ? JSON.stringify(status) : (status.message ?? "");
      if (text !== "") connection.send(channels.error, text);
      connection.close();
    },
  });
  connection.listen({
    message: (channel, data) => {
      if (channel === channels.stdin && wanted.stdin) handlers.input(data);
      const closes = name === "v5.channel" && channel === channels.close;
      if (closes && data[0] === channels.stdin) handlers.inputEnd();
    },
    end: () => undefined,
  });
}

function newestOf(offered: readonly string[], prefixes: readonly string[]): string | undefined {
  return prefixes.flatMap((prefix) => offered.filter((name) => name.startsWith(prefix)))[0];
}

/** Versions of the remote command protocol over SPDY, newest first; version 1 has no offered name. */
const spdyVersions = ["v4.channel.", "v3.channel.", "v2.channel.", "channel."];

function openSpdy(upgrade: Upgrade, wanted: RequestedStreams, handlers: CommandHandlers): void {
  const offered = spdyProtocolsOf(upgrade);
  const protocol = newestOf(offered, spdyVersions);
  if (offered.length > 0 && protocol === undefined) {
    return rejectUpgrade(upgrade.socket, 403, "simulated nodes speak versions 1 to 4 over SPDY\n");
  }
  const transport = acceptSpdy(upgrade, protocol);
  if (transport === undefined) return;
  const version = Number(/^v(\d)/.exec(protocol ?? "")?.[1] ?? 1);
  const { stdin, stdout, stderr, tty } = wanted;
  const expected = [true, stdin, stdout, stderr && !tty, tty && version >= 3].filter(
    Boolean,
  ).length;
  const streams = new Map<string, SpdyStream>();
  const late = setTimeout(() => transport.destroy(), openMs).unref();
  const connection = new SpdyConnection(transport, (stream) => {
    const type = stream.headers.get("streamtype") ?? "";
    if (!["error", "stdin", "stdout", "stderr", "resize"].includes(type) || streams.has(type)) {
      return false;
    }
    streams.set(type, stream);
    if (type !== "stdin") stream.resume();
    if (streams.size < expected) return true;
    clearTimeout(late);
    // Send the SYN_REPLY of this stream first.
    setImmediate(() => start(streams, { connection, version, handlers }));
    return true;
  });
  void connection.run().finally(() => clearTimeout(late));
}

interface SpdyStart {
  readonly connection: SpdyConnection;
  readonly version: number;
  readonly handlers: CommandHandlers;
}

function start(
  streams: ReadonlyMap<string, SpdyStream>,
  { connection, version, handlers }: SpdyStart,
): void {
  handlers.start({
    write: (stream, data) => void streams.get(stream)?.write(data),
    finish: (status) => {
      const text = version >= 4 ? JSON.stringify(status) : (status.message ?? "");
      if (text !== "") streams.get("error")?.write(text);
      for (const stream of streams.values()) stream.end();
      connection.close();
    },
  });
  const stdin = streams.get("stdin");
  stdin?.on("data", (data: Buffer) => handlers.input(data));
  stdin?.on("end", () => handlers.inputEnd());
}

/** SPDY protocols offered by a client. */
export function spdyProtocolsOf({ request }: Upgrade): readonly string[] {
  const offered = request.headers["x-stream-protocol-version"];
  const names = [offered ?? []].flat().flatMap((each) => each.split(","));
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** Accepts the SPDY handshake. Undefined = the client requested another protocol, and got a 400. */
export function acceptSpdy(
  { request, socket, head }: Upgrade,
  protocol: string | undefined,
): Duplex | undefined {
  if (request.headers.upgrade?.toLowerCase() !== "spdy/3.1") {
    rejectUpgrade(socket, 400, "Upgrade request required: WebSocket or SPDY/3.1\n");
    return undefined;
  }
  const named = protocol === undefined ? "" : `X-Stream-Protocol-Version: ${protocol}\r\n`;
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${named}\r\n`,
  );
  if (head.length > 0) socket.unshift(head);
  return socket;
}
