import type { Pod } from "#kinds";
import { ArithmeticFault } from "./arithmetic.ts";
import { type Expansion, ExpansionFault, expandText, expandWords, type Running } from "./expand.ts";
import { type ContainerFiles, FileFault } from "./container-files.ts";
import { parseScript } from "./parse-script.ts";
import { NotSimulated } from "./not-simulated.ts";
import { type ProgramContext, type ProgramResult, programs } from "./programs.ts";
import {
  type AndOr,
  type Command,
  type Compound,
  type Pipeline,
  type Redirect,
  type Script,
  type SimpleCommand,
  SyntaxFault,
} from "./syntax.ts";

/** A script exceeded its limits. */
export class TooMuchWork extends Error {}

/** Control flow: `exit` with a status. */
class Exit extends Error {
  constructor(readonly status: number) {
    super("exit");
  }
}

/** Control flow: `break` and `continue`. */
class LoopControl extends Error {
  constructor(readonly isEnd: boolean) {
    super("loop");
  }
}

export interface ShellOptions {
  /** Host name. */
  readonly host: string;
  readonly files: ContainerFiles;
  readonly environment: ReadonlyMap<string, string>;
  /** Handles unknown programs. @throws NotSimulated */
  readonly unknown: (command: readonly string[]) => ProgramResult;
  /** Wall clock in ms, without the time that the script has slept. */
  readonly now: () => number;
  /** Random number from 0 to 1, exclusive. */
  readonly random: () => number;
  /** Maximum number of commands. */
  readonly maxCommands: number;
  /** Maximum bytes of variables and program output. */
  readonly maxBytes: number;
}

/** Output streams of a command. */
export interface Streams {
  readonly input: Uint8Array;
  readonly write: (descriptor: 1 | 2, data: Uint8Array) => void;
}

/** Maximum length of a variable, and of the output of a substitution or pipe. */
const maxTextLength = 65_536;
const randomRange = 32_768;

/** Interpreter of a small shell with built-in programs; starts no processes. */
export class Shell {
  private readonly variables: Map<string, string>;
  private status = 0;
  private steps = 0;
  private bytes = 0;
  /** `set -e`: the script ends at the first failing command. */
  private endsAtFailure = false;
  /** Nesting depth of conditions, in which `set -e` is ignored. */
  private conditions = 0;
  private sleptMs = 0;

  constructor(private readonly options: ShellOptions) {
    this.variables = new Map(options.environment);
  }

  /**
   * Runs a command to its end: a program, or a shell with a script.
   * @returns its exit code
   * @throws NotSimulated, TooMuchWork
   */
  *run(command: readonly string[], streams: Streams): Running<number> {
    try {
      return yield* this.program(command, streams);
    } catch (error) {
      if (error instanceof Exit) return error.status;
      throw error;
    }
  }

  /** Runs a line of an interactive shell. `ends` = the line called `exit`. */
  *line(
    text: string,
    streams: Streams,
  ): Running<{ readonly status: number; readonly ends: boolean }> {
    try {
      return { status: yield* this.script(parsed(text), streams), ends: false };
    } catch (error) {
      if (error instanceof Exit) return { status: error.status, ends: true };
      throw error;
    }
  }

  private *script(script: Script, streams: Streams): Running<number> {
    for (const list of script) yield* this.andOr(list, streams);
    return this.status;
  }

  private *andOr({ first, rest }: AndOr, streams: Streams): Running<void> {
    const pipelines = [{ operator: undefined, pipeline: first }, ...rest];
    for (const [at, { operator, pipeline }] of pipelines.entries()) {
      if (operator === "&&" && this.status !== 0) continue;
      if (operator === "||" && this.status === 0) continue;
      const isLast = at === pipelines.length - 1;
      if (!isLast) this.conditions++;
      try {
        this.status = yield* this.pipeline(pipeline, streams);
      } finally {
        if (!isLast) this.conditions--;
      }
      const fails = this.status !== 0 && isLast && !pipeline.isNegated;
      if (fails && this.endsAtFailure && this.conditions === 0) throw new Exit(this.status);
    }
  }

  private *pipeline({ isNegated, commands }: Pipeline, streams: Streams): Running<number> {
    let { input } = streams;
    let status = 0;
    for (const [at, command] of commands.entries()) {
      const isLast = at === commands.length - 1;
      const output = new Output();
      const write: Streams["write"] = (descriptor, data) =>
        isLast || descriptor === 2 ? streams.write(descriptor, data) : output.add(data);
      status = yield* this.command(command, { input, write });
      input = output.bytes;
    }
    return isNegated ? Number(status === 0) : status;
  }

  private *command(command: Command, streams: Streams): Running<number> {
    if (++this.steps > this.options.maxCommands) throw new TooMuchWork();
    try {
      const redirected = yield* this.redirected(command.redirects, streams);
      const status =
        command.kind === "simple"
          ? yield* this.simple(command, redirected.streams)
          : yield* this.compound(command.body, redirected.streams);
      redirected.save();
      return status;
    } catch (error) {
      const isFault =
        error instanceof FileFault ||
        error instanceof ArithmeticFault ||
        error instanceof ExpansionFault;
      if (!isFault) throw error;
      streams.write(2, Buffer.from(`sh: ${error.message}\n`));
      if (!(error instanceof FileFault)) throw new Exit(2);
      return 1;
    }
  }

  private *compound(body: Compound, streams: Streams): Running<number> {
    switch (body.kind) {
      case "group":
        return body.isSubshell
          ? yield* this.subshell(body.script, streams)
          : yield* this.script(body.script, streams);
      case "if": {
        for (const { condition, script } of body.branches) {
          if ((yield* this.condition(condition, streams)) === 0)
            return yield* this.script(script, streams);
        }
        this.status = 0;
        return body.otherwise === undefined ? 0 : yield* this.script(body.otherwise, streams);
      }
      case "loop": {
        const { condition, script, goesOnIf } = body;
        const goesOn = goesOnIf === "success";
        let status = 0;
        while (((yield* this.condition(condition, streams)) === 0) === goesOn) {
          if (yield* this.iterate(script, streams)) break;
          ({ status } = this);
        }
        return status;
      }
      default: {
        this.status = 0;
        for (const word of yield* expandWords(body.words, this.expansion)) {
          this.set(body.name, word);
          if (yield* this.iterate(body.script, streams)) break;
        }
        return this.status;
      }
    }
  }

  private *condition(script: Script, streams: Streams): Running<number> {
    this.conditions++;
    try {
      return yield* this.script(script, streams);
    } finally {
      this.conditions--;
    }
  }

  /** One iteration of a loop. True = `break`. */
  private *iterate(script: Script, streams: Streams): Running<boolean> {
    try {
      yield* this.script(script, streams);
      return false;
    } catch (error) {
      if (!(error instanceof LoopControl)) throw error;
      this.status = 0;
      return error.isEnd;
    }
  }

  /** Runs a subshell, with separate variables and `exit`. */
  private *subshell(script: Script, streams: Streams): Running<number> {
    const before = new Map(this.variables);
    try {
      return yield* this.script(script, streams);
    } catch (error) {
      if (!(error instanceof Exit)) throw error;
      return error.status;
    } finally {
      this.variables.clear();
      for (const [name, value] of before) this.variables.set(name, value);
    }
  }

  private *simple({ assignments, words }: SimpleCommand, streams: Streams): Running<number> {
    for (const { name, value } of assignments) {
      this.set(name, yield* expandText(value, this.expansion));
    }
    const command = yield* expandWords(words, this.expansion);
    return command.length === 0 ? 0 : yield* this.program(command, streams);
  }

  private *program(command: readonly string[], streams: Streams): Running<number> {
    const [name = "", ...words] = command;
    const own = this.builtin(name, words);
    if (own !== undefined) return own;
    const base = name.slice(name.lastIndexOf("/") + 1);
    if (base === "sleep") return yield* this.sleep(words, streams);
    if (base === "exec" && words.length > 0) throw new Exit(yield* this.program(words, streams));
    const script = scriptOf(command);
    if (script !== undefined) return yield* this.nested(script, streams);
    const { stdout, stderr, exitCode } = this.runProgram(base, command, streams);
    this.charge(stdout.length);
    if (stdout.length > 0) streams.write(1, Buffer.from(stdout));
    if (stderr !== "") streams.write(2, Buffer.from(stderr));
    return exitCode;
  }

  private runProgram(name: string, command: readonly string[], streams: Streams): ProgramResult {
    const program = programs.get(name);
    if (program === undefined) return this.options.unknown(command);
    const context: ProgramContext = {
      files: this.options.files,
      host: this.options.host,
      variables: this.variables,
      input: streams.input,
      now: this.options.now() + this.sleptMs,
    };
    try {
      return program(command.slice(1), context);
    } catch (error) {
      if (!(error instanceof FileFault)) throw error;
      return { stdout: "", stderr: `${name}: ${error.message}\n`, exitCode: 1 };
    }
  }

  /** A shell within this one: `sh -c`. */
  private *nested({ options, text }: ShellScript, streams: Streams): Running<number> {
    const outer = { ends: this.endsAtFailure, conditions: this.conditions };
    this.endsAtFailure = options.includes("e");
    this.conditions = 0;
    try {
      return yield* this.subshell(parsed(text), streams);
    } finally {
      this.endsAtFailure = outer.ends;
      this.conditions = outer.conditions;
    }
  }

  /** Built-in commands that change the shell's state. Undefined = not a built-in. */
  private builtin(name: string, words: readonly string[]): number | undefined {
    switch (name) {
      case "exit": {
        const [word = String(this.status)] = words;
        throw new Exit(/^\d+$/.test(word) ? Number(word) & 255 : 2);
      }
      case "break":
      case "continue":
        throw new LoopControl(name === "break");
      case "export":
        for (const word of words) {
          const [variable = "", value] = splitAt(word, "=");
          if (value !== undefined) this.set(variable, value);
        }
        return 0;
      case "unset":
        for (const word of words) this.variables.delete(word);
        return 0;
      case "set":
        for (const word of words) {
          if (/^[-+][a-z]*e/.test(word)) this.endsAtFailure = word.startsWith("-");
        }
        return 0;
      case "trap":
      case "wait":
        return 0;
      case "cd":
        return words[0] === "/" ? 0 : undefined;
      default:
        return undefined;
    }
  }

  private *sleep(words: readonly string[], streams: Streams): Running<number> {
    let ms = 0;
    for (const word of words) {
      const [, amount, unit = ""] =
        /^(\d+(?:\.\d*)?|\.\d+|inf|infinity)([smhd]?)$/.exec(word) ?? [];
      if (amount === undefined) {
        streams.write(2, Buffer.from(`sleep: invalid time interval '${word}'\n`));
        return 1;
      }
      ms += amount.startsWith("inf") ? Infinity : Number(amount) * unitMs[unit]!;
    }
    if (words.length === 0) {
      streams.write(2, Buffer.from("sleep: missing operand\n"));
      return 1;
    }
    yield ms;
    this.sleptMs += ms;
    return 0;
  }

  /** The streams of a command with redirections; `save` writes files once it has ended. */
  private *redirected(
    redirects: readonly Redirect[],
    outer: Streams,
  ): Running<{ readonly streams: Streams; readonly save: () => void }> {
    if (redirects.length === 0) return { streams: outer, save: () => undefined };
    const { files } = this.options;
    const sinks: Record<1 | 2, (data: Uint8Array) => void> = {
      1: (data) => outer.write(1, data),
      2: (data) => outer.write(2, data),
    };
    const saves: (() => void)[] = [];
    let { input } = outer;
    for (const { descriptor, operator, target } of redirects) {
      const path = yield* expandText(target, this.expansion);
      if (operator === ">&") {
        if (path !== "1" && path !== "2") throw new NotSimulated(`>&${path}`);
        if (descriptor !== 0) sinks[descriptor] = sinks[Number(path) as 1 | 2];
      } else if (operator === "<") {
        const entry = files.get(path);
        if (entry === undefined) throw new FileFault(`can't open ${path}: no such file`);
        input = entry.data;
      } else if (descriptor !== 0 && /^\/dev\/(stdout|stderr|fd\/[12])$/.test(path)) {
        sinks[descriptor] = sinks[/stdout|1$/.test(path) ? 1 : 2];
      } else if (descriptor !== 0) {
        const output = new Output(operator === ">>" ? files.get(path)?.data : undefined);
        sinks[descriptor] = (data) => output.add(data);
        if (path === "/dev/null") continue;
        saves.push(() => files.writeFile(path, output.bytes));
      }
    }
    const write: Streams["write"] = (descriptor, data) => sinks[descriptor](data);
    return { streams: { input, write }, save: () => saves.forEach((save) => save()) };
  }

  private readonly expansion: Expansion = {
    get: (name) => this.get(name),
    set: (name, value) => this.set(name, value),
    output: (script) => this.output(script),
  };

  private *output(script: Script): Running<string> {
    const output = new Output();
    const write: Streams["write"] = (descriptor, data) => {
      if (descriptor === 1) output.add(data);
    };
    this.status = yield* this.subshell(script, { input: new Uint8Array(), write });
    return output.text.replace(/\n+$/, "");
  }

  private get(name: string): string | undefined {
    switch (name) {
      case "?":
        return String(this.status);
      case "$":
        return "1";
      case "#":
        return "0";
      case "RANDOM":
        return String(Math.floor(this.options.random() * randomRange));
      case "HOSTNAME":
        return this.options.host;
      default: {
        const value = this.variables.get(name);
        this.charge(value?.length ?? 0);
        return value;
      }
    }
  }

  private charge(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.options.maxBytes) throw new TooMuchWork();
  }

  private set(name: string, value: string): void {
    this.variables.set(name, value.slice(0, maxTextLength));
  }
}

const unitMs: Readonly<Record<string, number>> = {
  "": 1_000,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Captured output of a command, up to a limit. */
class Output {
  private readonly parts: Uint8Array[] = [];
  private left = maxTextLength;

  constructor(before: Uint8Array = new Uint8Array()) {
    this.parts.push(before);
  }

  add(data: Uint8Array): void {
    if (data.length > this.left) throw new FileFault("No space left on device");
    this.left -= data.length;
    this.parts.push(data);
  }

  get bytes(): Uint8Array {
    return Buffer.concat(this.parts);
  }

  get text(): string {
    return Buffer.concat(this.parts).toString();
  }
}

interface ShellScript {
  readonly options: string;
  readonly text: string;
}

/** The script of `sh -c SCRIPT`; undefined for another command. */
function scriptOf([program = "", ...words]: readonly string[]): ShellScript | undefined {
  if (!isShell(program)) return undefined;
  const at = words.findIndex((word) => /^-[a-z]*c$/.test(word));
  if (at < 0) return undefined;
  return { options: words.slice(0, at + 1).join(""), text: words[at + 1] ?? "" };
}

/** The host name of a pod's containers. */
export function hostOf({ metadata, spec }: Pod): string {
  return spec?.hostname ?? metadata.name;
}

export function isShell(program: string | undefined): boolean {
  return /(^|\/)(ba|a|z|da)?sh$/.test(program ?? "");
}

/** Whether a program exists as a file, unlike words that only shells know. */
export function isExecutable(program: string): boolean {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return isShell(program) || name === "sleep" || (programs.has(name) && !shellWords.has(name));
}

const shellWords: ReadonlySet<string> = new Set([":", "[["]);

/** @throws NotSimulated */
function parsed(text: string): Script {
  try {
    return parseScript(text);
  } catch (error) {
    if (error instanceof SyntaxFault) throw new NotSimulated(error.message);
    throw error;
  }
}

function splitAt(text: string, sign: string): readonly [string, string?] {
  const at = text.indexOf(sign);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + sign.length)];
}
