/** What simulated containers answer to commands: no program runs. */
import type { Pod } from "#kinds";
import { type ContainerFiles, FileFault } from "./container-files.ts";
import { execAnswer } from "./exec-answers.ts";
import {
  isShell,
  type ProgramResult,
  runProgram,
  runScript,
  type ShellContext,
} from "./programs.ts";
import { TarReader } from "./tar.ts";

export interface ShellOutput {
  readonly stdout: string | Uint8Array;
  readonly stderr: string;
  /** Undefined = the command goes on to read. */
  readonly exitCode: number | undefined;
}

const nothing: ShellOutput = { stdout: "", stderr: "", exitCode: undefined };
/** Longest line of standard input; the rest is cut off. */
const longestLine = 65_536;

/** One command in a container. */
export class EchoShell {
  private line = "";
  private readonly context: ShellContext;
  private readonly command: readonly string[];
  /** Extracts what the command `tar x` reads. */
  private tar: TarReader | undefined;
  private isReading = false;

  constructor(options: {
    readonly pod: Pod;
    readonly container: string;
    readonly files: ContainerFiles;
    readonly command: readonly string[];
  }) {
    this.context = options;
    this.command = options.command;
  }

  /** Starts the command; `hasInput` if the client sends standard input. */
  start(hasInput: boolean): ShellOutput {
    const given = execAnswer(this.context.pod, this.command);
    if (given !== undefined) return given;
    const folder = extractionFolder(this.command);
    this.isReading = hasInput && (folder !== undefined || this.isReader);
    if (!this.isReading) return runProgram(this.context, this.command);
    if (folder !== undefined) this.tar = new TarReader(this.context.files, folder);
    return { ...nothing, stdout: this.prompt };
  }

  /** Takes standard input. */
  input(data: Buffer): ShellOutput {
    if (!this.isReading) return nothing;
    if (this.tar !== undefined) return this.extract(this.tar, data);
    if (!this.isShell) return { ...nothing, stdout: data };
    const stdout: (string | Uint8Array)[] = [];
    let stderr = "";
    for (const character of data.toString()) {
      if (character !== "\n" && character !== "\r") {
        if (this.line.length < longestLine) this.line += character;
        continue;
      }
      const line = this.line.trim();
      this.line = "";
      const [, code] = /^exit(?:\s+(\d+))?$/.exec(line) ?? [];
      if (/^exit\b/.test(line))
        return { stdout: joined(stdout), stderr, exitCode: Number(code ?? 0) & 255 };
      const result = line === "" ? undefined : this.answerLine(line);
      stdout.push(result?.stdout ?? "", this.prompt);
      stderr += result?.stderr ?? "";
    }
    return { stdout: joined(stdout), stderr, exitCode: undefined };
  }

  /** The client sends no more. */
  inputEnd(): ShellOutput {
    const isCutOff = this.tar !== undefined && !this.tar.isEnded;
    return { stdout: "", stderr: isCutOff ? "tar: short read\n" : "", exitCode: isCutOff ? 1 : 0 };
  }

  private answerLine(line: string): ProgramResult {
    return execAnswer(this.context.pod, line.split(/\s+/)) ?? runScript(this.context, line);
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

/** The folder into which a command of `tar` extracts standard input; undefined = it does not. */
function extractionFolder([program, ...words]: readonly string[]): string | undefined {
  if (program !== "tar" || !words.some((word) => /^-?[a-z]*x[a-z]*$/.test(word))) return undefined;
  const at = words.indexOf("-C");
  return at < 0 ? "/" : (words[at + 1] ?? "/");
}

function joined(parts: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}
