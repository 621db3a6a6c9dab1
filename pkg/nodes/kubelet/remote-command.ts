import type { Clock } from "#base";
import type { Pod } from "#kinds";
import { EchoShell, type ShellOutput } from "./exec/echo-shell.ts";
import type { ContainerFiles } from "../shell/container-files.ts";
import {
  type CommandStreams,
  type ExitStatus,
  openCommandStreams,
  type RequestedStreams,
} from "./streams/command-streams.ts";
import { rejectUpgrade, type Upgrade } from "./streams/web-socket.ts";

export interface RemoteCommand {
  readonly pod: Pod;
  readonly container: string;
  readonly query: URLSearchParams;
  readonly files: ContainerFiles;
  readonly environment: ReadonlyMap<string, string>;
  readonly clock: Clock;
  /** Suffix of the names of WebSocket subprotocols. */
  readonly api: string;
  /** Printed first: the log of an attached container. */
  readonly preamble: string;
}

/** Runs `exec` or `attach` until the command or the connection ends. */
export function runRemoteCommand(upgrade: Upgrade, command: RemoteCommand): void {
  const { query, preamble, api } = command;
  const wanted = requestedStreams(query);
  const { stdin, stdout, stderr } = wanted;
  if (!stdin && !stdout && !stderr) {
    const missing = "you must specify at least 1 of stdin, stdout, stderr";
    return rejectUpgrade(upgrade.socket, 400, missing);
  }
  const shell = new EchoShell({ ...command, command: query.getAll("command") });
  let streams: CommandStreams | undefined;
  const answer = ({ stdout, stderr, exitCode }: ShellOutput): void => {
    if (stdout.length > 0) streams?.write("stdout", stdout);
    if (stderr !== "") streams?.write("stderr", stderr);
    if (exitCode === undefined) return;
    streams?.finish(statusOf(exitCode));
    streams = undefined;
  };
  openCommandStreams(
    upgrade,
    { wanted, api },
    {
      start: (opened) => {
        streams = opened;
        if (preamble !== "") streams.write("stdout", preamble);
        answer(shell.start(stdin));
      },
      input: (data) => {
        if (streams !== undefined) answer(shell.input(data));
      },
      inputEnd: () => {
        if (streams !== undefined) answer(shell.inputEnd());
      },
    },
  );
}

/** As the kubelet, without standard error on a terminal. */
function requestedStreams(query: URLSearchParams): RequestedStreams {
  const tty = isOn(query, "tty");
  return {
    stdin: isOn(query, "input") || isOn(query, "stdin"),
    stdout: isOn(query, "output") || isOn(query, "stdout"),
    stderr: !tty && (isOn(query, "error") || isOn(query, "stderr")),
    tty,
  };
}

function isOn(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value === "true" || value === "1";
}

/** Status by which a kubelet reports the exit of a command. */
function statusOf(exitCode: number): ExitStatus {
  const head = { metadata: {} };
  if (exitCode === 0) return { ...head, status: "Success" };
  const causes = [{ reason: "ExitCode", message: String(exitCode) }];
  const details = { reason: "NonZeroExitCode", details: { causes } };
  const message = `command terminated with non-zero exit code: exit status ${exitCode}`;
  return { ...head, status: "Failure", message, ...details };
}
