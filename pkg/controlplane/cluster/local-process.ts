import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";

interface ProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly words: readonly string[];
  /** File that everything it prints is added to. */
  readonly log: string;
  /** Resolves once the process serves; it is asked after every start. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
}

/** A process that ended before it served; with the last that it printed. */
export class ProcessEndedError extends Error {
  override readonly name = "EndedError";
}

/** Longest time that a process may take until it serves. */
const startMs = 60_000;
const shownCharacters = 2_000;

/** A program on this machine that can be ended and started again. */
export class LocalProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  readonly #log: WriteStream;
  #child: ChildProcess | undefined;
  #gone: Promise<void> = Promise.resolve();
  #retired = false;
  /** The last that it printed, for whoever has to understand why it ended. */
  #last = "";

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = createWriteStream(options.log, { flags: "a" });
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Resolves when it serves; throws with the last that it printed if it ends before, and the
   * signal's reason if that aborts before.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { program, words, ready } = this.#options;
    if (this.#retired) throw new ProcessEndedError(`${this.name} is not started any more`);
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
      child.once("close", () => {
        if (this.#child === child) this.#child = undefined;
        life.abort(new ProcessEndedError(`${this.name} ended: ${this.#last.trim()}`));
        resolve();
      });
    });
    const ends = [life.signal, AbortSignal.timeout(startMs), ...(signal ? [signal] : [])];
    await ready(AbortSignal.any(ends));
  }

  /** Asks it to end and waits until it has; after `graceMs` it is killed. */
  async stop(graceMs: number): Promise<void> {
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL"), graceMs);
    await this.#gone;
    clearTimeout(timer);
  }

  /** Ends it for good, frozen or not: whoever would start it again is refused. */
  async retire(graceMs: number): Promise<void> {
    this.#retired = true;
    this.signal("SIGCONT");
    await this.stop(graceMs);
  }

  /** As a crash; resolves when the process is gone. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#gone;
  }

  /** Does nothing to a process that does not run. */
  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** Resolves when the process that runs now has ended. */
  ended(): Promise<void> {
    return this.#gone;
  }
}
