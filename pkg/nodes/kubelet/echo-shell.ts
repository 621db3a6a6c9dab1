/** What simulated containers answer to commands: no program runs. */
import type { Pod } from "#kinds";
import { annotationOf } from "../annotations.ts";

export interface ShellOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined = the command goes on to read. */
  readonly exitCode: number | undefined;
}

/** One command in a container. */
export class EchoShell {
  private line = "";

  constructor(
    private readonly pod: Pod,
    private readonly container: string,
    private readonly command: readonly string[],
  ) {}

  /** Starts the command; `hasInput` if the client sends standard input. */
  start(hasInput: boolean): ShellOutput {
    const given = annotationOf(this.pod, "exec-output");
    const code = annotationOf(this.pod, "exec-exit-code");
    if (given !== undefined || code !== undefined) {
      const exitCode = /^\d{1,3}$/.test(code ?? "") ? Math.min(Number(code), 255) : 0;
      return { stdout: given ?? "", stderr: "", exitCode };
    }
    if (hasInput && this.isReader) return { stdout: this.prompt, stderr: "", exitCode: undefined };
    return this.run(this.command);
  }

  /** Takes standard input. */
  input(data: string): ShellOutput {
    if (!this.isShell) return { stdout: data, stderr: "", exitCode: undefined };
    let stdout = "";
    let stderr = "";
    for (const character of data) {
      if (character !== "\n" && character !== "\r") {
        // Longer lines are cut: a client may send without end.
        if (this.line.length < 65_536) this.line += character;
        continue;
      }
      const words = this.line.trim().split(/\s+/);
      this.line = "";
      if (words[0] === "exit") return { stdout, stderr, exitCode: Number(words[1] ?? 0) & 255 };
      const result = words[0] === "" ? undefined : this.run(words);
      stdout += `${result?.stdout ?? ""}${this.prompt}`;
      stderr += result?.stderr ?? "";
    }
    return { stdout, stderr, exitCode: undefined };
  }

  private get isShell(): boolean {
    return /(^|\/)(ba|a|z|da)?sh$/.test(this.command[0] ?? "") && this.command.length === 1;
  }

  private get isReader(): boolean {
    return this.isShell || this.command.length === 0 || this.command[0] === "cat";
  }

  private get prompt(): string {
    return this.isShell ? "simulated$ " : "";
  }

  private run(command: readonly string[]): ShellOutput {
    const [program = "", ...words] = command;
    const { name } = this.pod.metadata;
    const done = (stdout: string, exitCode = 0) => ({ stdout, stderr: "", exitCode });
    if (/(^|\/)(ba|a|z|da)?sh$/.test(program) && words[0] === "-c") {
      return this.run((words[1] ?? "").trim().split(/\s+/));
    }
    if (program === "echo") return done(`${words.join(" ")}\n`);
    if (program === "true" || program === "cat") return done("");
    if (program === "false") return done("", 1);
    if (program === "hostname") return done(`${this.pod.spec?.hostname ?? name}\n`);
    const shown = command.join(" ");
    return done(`simulated container ${this.container} of pod ${name}: ${shown}\n`);
  }
}
