import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Pod } from "#kinds";
import { EchoShell, type ShellOutput } from "./echo-shell.ts";
import { ChannelSocket } from "./web-socket.ts";

/** Channels of a remote command, by its protocol. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;

export interface RemoteCommand {
  readonly pod: Pod;
  readonly container: string;
  readonly query: URLSearchParams;
  /** Printed first, as the log of a container that is attached to. */
  readonly preamble: string;
}

/** Runs `exec` or `attach` over a WebSocket until the command or the connection ends. */
export function runRemoteCommand(
  request: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Uint8Array },
  { pod, container, query, preamble }: RemoteCommand,
): void {
  const shell = new EchoShell(pod, container, query.getAll("command"));
  const hasInput = isOn(query, "input") || isOn(query, "stdin");
  const answer = ({ stdout, stderr, exitCode }: ShellOutput): void => {
    if (stdout !== "") connection?.send(channels.stdout, stdout);
    if (stderr !== "") connection?.send(channels.stderr, stderr);
    if (exitCode === undefined) return;
    connection?.send(channels.error, JSON.stringify(statusOf(exitCode)));
    connection?.close();
  };
  const receive = (channel: number, data: Buffer): void => {
    if (channel === channels.stdin) answer(shell.input(data.toString()));
    const closesInput = channel === channels.close && data[0] === channels.stdin;
    if (closesInput) answer({ stdout: "", stderr: "", exitCode: 0 });
  };
  const handlers = { head, receive, onEnd: () => undefined };
  const connection = ChannelSocket.accept(request, socket, handlers);
  if (connection === undefined) return;
  if (preamble !== "") connection.send(channels.stdout, preamble);
  answer(shell.start(hasInput));
}

function isOn(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value === "true" || value === "1";
}

/** How a kubelet reports the end of a command. */
function statusOf(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}
