/** Responses of simulated containers to `exec` and `attach`; no program runs. */
import { type Clock, seededRandom } from "#base";
import type { Pod } from "#kinds";
import { type ContainerFiles, FileFault } from "../../shell/container-files.ts";
import { NotSimulated } from "../../shell/not-simulated.ts";
import type { ProgramResult } from "../../shell/programs.ts";
import {
  hostOf,
  isExecutable,
  isShell,
  Shell,
  type Streams,
  TooMuchWork,
} from "../../shell/shell.ts";
import { TarReader } from "../../shell/tar.ts";
import { execResponse } from "./exec-answers.ts";

export interface ShellOutput {
  readonly stdout: string | Uint8Array;
  readonly stderr: string;
  /** Undefined = the command continues to read standard input. */
  readonly exitCode: number | undefined;
  /** Program or feature that the command used, and that is not simulated. */
  readonly notSimulated?: string | undefined;
  /** Time in ms for which the command would have slept. */
  readonly sleptMs?: number;
}

/** Exit code for a program that does not exist, by POSIX. */
const notFoundCode = 127;
/** Exit code of a shell that cannot run its script. */
const scriptFaultCode = 2;
const nothing: ShellOutput = { stdout: "", stderr: "", exitCode: undefined };
/** Maximum line length of standard input; longer lines are truncated. */
const maxLineLength = 65_536;
/** Maximum number of commands per script. */
const maxCommands = 10_000;
/** Maximum number of bytes that a script writes and reads. */
const maxBytes = 32 << 20;

export interface EchoShellOptions {
  readonly pod: Pod;
  readonly container: string;
  readonly files: ContainerFiles;
  readonly environment: ReadonlyMap<string, string>;
  readonly clock: Clock;
  readonly command: readonly string[];
}

/** One command in a container. */
export class EchoShell {
  private line = "";
  private readonly shell: Shell;
  private readonly command: readonly string[];
  /** Extracts what the command `tar x` reads. */
  private tar: TarReader | undefined;
  private isReading = false;
  private notSimulated: string | undefined;

  constructor(private readonly options: EchoShellOptions) {
    const { pod, clock } = options;
    this.command = options.command;
    const random = seededRandom(String(clock.now()));
    this.shell = new Shell({
      ...options,
      host: hostOf(pod),
      unknown: ([program = ""]) => {
        this.notSimulated ??= program;
        return failed(`sh: 1: ${program}: not found\n`, notFoundCode);
      },
      now: () => clock.now(),
      random: () => random.next(),
      maxCommands,
      maxBytes,
    });
  }

  /** Starts the command; `hasInput` = the client sends standard input. */
  start(hasInput: boolean): ShellOutput {
    const given = execResponse(this.options.pod, this.command);
    if (given !== undefined) return given;
    const [program] = this.command;
    if (program !== undefined && !isExecutable(program)) {
      return { ...failed(notFound(program), notFoundCode), notSimulated: program };
    }
    const folder = extractionFolder(this.command);
    this.isReading = hasInput && (folder !== undefined || this.isReader);
    if (!this.isReading) {
      if (program === undefined) return { ...nothing, exitCode: 0 };
      const result = this.finish((streams) => this.shell.run(this.command, streams));
      return { ...result, notSimulated: this.notSimulated };
    }
    if (folder !== undefined) this.tar = new TarReader(this.options.files, folder);
    return { ...nothing, stdout: this.prompt };
  }

  /** Receives standard input. */
  input(data: Buffer): ShellOutput {
    if (!this.isReading) return nothing;
    if (this.tar !== undefined) return this.extract(this.tar, data);
    if (!this.isShell) return { ...nothing, stdout: data };
    const stdout: (string | Uint8Array)[] = [];
    let stderr = "";
    for (const character of data.toString()) {
      if (character !== "\n" && character !== "\r") {
        if (this.line.length < maxLineLength) this.line += character;
        continue;
      }
      const line = this.line.trim();
      this.line = "";
      if (line === "") {
        stdout.push(this.prompt);
        continue;
      }
      const result = this.answerLine(line);
      stdout.push(result.stdout);
      stderr += result.stderr;
      if (result.ends) return { stdout: joined(stdout), stderr, exitCode: result.exitCode };
      stdout.push(this.prompt);
    }
    return { stdout: joined(stdout), stderr, exitCode: undefined };
  }

  /** End of standard input. */
  inputEnd(): ShellOutput {
    const isCutOff = this.tar !== undefined && !this.tar.isEnded;
    return { stdout: "", stderr: isCutOff ? "tar: short read\n" : "", exitCode: isCutOff ? 1 : 0 };
  }

  private answerLine(line: string): ProgramResult & { readonly ends: boolean } {
    const words = line.split(/\s+/);
    const given = execResponse(this.options.pod, words);
    if (given !== undefined) return { ...given, ends: false };
    let ends = false;
    const result = this.finish((streams) => {
      const running = this.shell.line(line, streams);
      return (function* () {
        const end = yield* running;
        ({ ends } = end);
        return end.status;
      })();
    });
    return { ...result, ends };
  }

  /** Runs a command to its end; sleeps take no time. */
  private finish(
    start: (streams: Streams) => Iterator<number, number>,
  ): ProgramResult & { readonly sleptMs: number } {
    const outputs: Record<1 | 2, Uint8Array[]> = { 1: [], 2: [] };
    const write: Streams["write"] = (descriptor, data) => outputs[descriptor].push(data);
    const running = start({ input: new Uint8Array(), write });
    let sleptMs = 0;
    try {
      let step = running.next();
      for (; step.done !== true; step = running.next()) sleptMs += step.value;
      const stderr = joined(outputs[2]).toString();
      return { stdout: joined(outputs[1]), stderr, exitCode: step.value, sleptMs };
    } catch (error) {
      const stdout = joined(outputs[1]);
      if (error instanceof NotSimulated) {
        // A result of a script that was not run to its end would be an invention.
        this.notSimulated ??= error.message;
        const stderr = `${joined(outputs[2]).toString()}sh: not simulated: ${error.message}\n`;
        return { stdout, stderr, exitCode: scriptFaultCode, sleptMs };
      }
      if (!(error instanceof TooMuchWork)) throw error;
      const stderr = "simulated: the script does too much\n";
      return { stdout, stderr, exitCode: 137, sleptMs };
    }
  }

  private extract(tar: TarReader, data: Buffer): ShellOutput {
    try {
      tar.write(data);
      return tar.isEnded ? { ...nothing, exitCode: 0 } : nothing;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const stderr = `tar: ${message}\n`;
      return { stdout: "", stderr, exitCode: error instanceof FileFault ? 1 : 2 };
    }
  }

  private get isShell(): boolean {
    return isShell(this.command[0]) && !this.command.includes("-c");
  }

  private get isReader(): boolean {
    return this.isShell || this.command.length === 0 || this.command.join(" ") === "cat";
  }

  private get prompt(): string {
    return this.isShell ? "simulated$ " : "";
  }
}

function failed(stderr: string, exitCode: number): ProgramResult {
  return { stdout: "", stderr, exitCode };
}

/** Message of runc for a program that the container does not have. */
function notFound(program: string): string {
  const why = program.includes("/")
    ? `stat ${program}: no such file or directory`
    : "executable file not found in $PATH";
  const what = `exec: ${JSON.stringify(program)}: ${why}`;
  return `OCI runtime exec failed: exec failed: unable to start container process: ${what}: unknown\n`;
}

/** Folder into which a `tar` command extracts standard input; undefined = it does not extract. */
function extractionFolder([program, ...words]: readonly string[]): string | undefined {
  if (program !== "tar" || !words.some((word) => /^-?[a-z]*x[a-z]*$/.test(word))) return undefined;
  const at = words.indexOf("-C");
  return at < 0 ? "/" : (words[at + 1] ?? "/");
}

function joined(parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}
