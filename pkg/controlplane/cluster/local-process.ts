import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";
import { setTimeout as setPause } from "node:timers/promises";

interface ProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly words: readonly string[];
  /** File to which its output is appended. */
  readonly log: string;
  /** Resolves once the process serves; called after every start. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
}

/** A process exited before it served; the message contains the end of its output. */
export class ProcessEndedError extends Error {
  override readonly name = "ProcessEndedError";
}

/** Time in ms within which a process must serve. */
const startMs = 60_000;
const shownCharacters = 2_000;
/** Delay in ms before a process that has exited is restarted; doubles with each failure. */
const firstPauseMs = 500;
const maxPauseMs = 30_000;

/** A program on this host that can be stopped and restarted. */
export class LocalProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  readonly #log: WriteStream;
  #child: ChildProcess | undefined;
  /** Resolves with the signal or exit code that ended the current process. */
  #gone: Promise<string> = Promise.resolve("not started");
  #retired = false;
  /** End of its output, for the error if it exits early. */
  #last = "";

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = createWriteStream(options.log, { flags: "a" });
  }

  /** Process ID; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the process; resolves when it serves.
   * @throws ProcessEndedError if it exits before, and the signal's reason if the signal aborts
   * before
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { program, words, ready } = this.#options;
    if (this.#retired) throw new ProcessEndedError(`${this.name} is retired and cannot be started`);
    const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#last = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.#log.write(chunk);
        this.#last = `${this.#last}${chunk.toString()}`.slice(-shownCharacters);
      });
    }
    const life = new AbortController();
    this.#gone = new Promise((resolve) => {
      child.once("error", (error) => (this.#last = error.message));
      child.once("close", (code, signal) => {
        if (this.#child === child) this.#child = undefined;
        life.abort(new ProcessEndedError(`${this.name} ended: ${this.#last.trim()}`));
        resolve(signal ?? `exit code ${code}`);
      });
    });
    const ends = [life.signal, AbortSignal.timeout(startMs), ...(signal ? [signal] : [])];
    await ready(AbortSignal.any(ends));
  }

  /** Sends SIGTERM and waits for the exit; sends SIGKILL after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL"), graceMs);
    await this.#gone;
    clearTimeout(timer);
  }

  /** Stops the process, even if it is frozen; a later `start` fails. */
  async retire(graceMs: number): Promise<void> {
    this.#retired = true;
    this.signal("SIGCONT");
    await this.stop(graceMs);
  }

  /** Kills the process, as in a crash; resolves when it has exited. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#gone;
  }

  /** Sends a signal; does nothing if the process is not running. */
  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Resolves when the current process has exited, with its signal or exit code. */
  ended(): Promise<string> {
    return this.#gone;
  }

  /**
   * Restarts the process whenever it has exited, until the signal aborts; waits longer after each start
   * that fails.
   */
  async supervise(signal: AbortSignal, say: (line: string) => void): Promise<void> {
    let pause = firstPauseMs;
    for (let why = await this.ended(); !signal.aborted; why = await this.ended()) {
      say(`${this.name} ended (${why}), starting it again; its log is ${this.#options.log}`);
      await setPause(pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.start(signal);
        pause = firstPauseMs;
      } catch (error) {
        pause = Math.min(2 * pause, maxPauseMs);
        if (!signal.aborted) say((error as Error).message);
      }
    }
  }
}
