import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

interface Outcome {
  readonly status: number | null;
  readonly out: string;
  readonly error: string;
}

/** A command that goes on until it is disposed of. */
interface GoingOn extends Disposable {
  /** Resolves when it prints that line; fails the test when it ends before. */
  printed(line: string): Promise<void>;
}

/** A stock kubectl with a kubeconfig and a folder of its own. */
export class Kubectl {
  /** The working directory of all commands. */
  readonly folder = mkdtempSync(path.join(tmpdir(), "keelson-kubectl-"));
  readonly #environment: NodeJS.ProcessEnv;

  constructor(kubeconfig: string, environment: Readonly<Record<string, string>> = {}) {
    const file = this.write("kubeconfig", kubeconfig);
    this.#environment = { ...process.env, KUBECONFIG: file, HOME: this.folder, ...environment };
  }

  static get isThere(): boolean {
    return spawnSync("kubectl", ["version", "--client"]).error === undefined;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A file in the folder; answers its path. */
  write(name: string, text: string, mode = 0o600): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, text, { mode });
    return file;
  }

  /** The words are split at blanks. */
  attempt(words: string, input?: string): Promise<Outcome> {
    return this.run("kubectl", words.split(" "), input);
  }

  run(program: string, words: readonly string[], input?: string): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const child = spawn(program, words, { cwd: this.folder, env: this.#environment });
      let out = "";
      let error = "";
      child.stdout.on("data", (chunk) => (out += chunk));
      child.stderr.on("data", (chunk) => (error += chunk));
      child.on("error", reject);
      child.on("close", (status) => resolve({ status, out, error }));
      child.stdin.end(input);
    });
  }

  /** For a command that watches. */
  start(words: string): GoingOn {
    const child = spawn("kubectl", words.split(" "), { cwd: this.folder, env: this.#environment });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    let error = "";
    child.stderr.on("data", (chunk) => (error += chunk));
    const printed = async (line: string): Promise<void> => {
      for (let seen = await lines.next(); seen.value !== line; seen = await lines.next()) {
        assert.ok(!seen.done, `kubectl ${words} never printed ${line}: ${error}`);
      }
    };
    return { printed, [Symbol.dispose]: () => void child.kill() };
  }

  /** A program that goes on, whose output is matched as it comes. */
  background(program: string, words: readonly string[]): Background {
    return new Background(spawn(program, words, { cwd: this.folder, env: this.#environment }));
  }

  /** What the command prints; fails the test when the command does. */
  async ok(words: string, input?: string): Promise<string> {
    const { status, out, error } = await this.attempt(words, input);
    assert.equal(status, 0, `kubectl ${words}: ${error}`);
    return out;
  }

  async json(words: string): Promise<any> {
    return JSON.parse(await this.ok(`${words} -o json`));
  }
}

/** A program that runs until it is disposed of. */
export class Background implements Disposable {
  #out = "";
  #error = "";
  #changed: (() => void) | undefined;
  #isEnded = false;

  constructor(readonly child: ChildProcessWithoutNullStreams) {
    const changed = () => this.#changed?.();
    child.stdout.on("data", (chunk) => ((this.#out += chunk), changed()));
    child.stderr.on("data", (chunk) => ((this.#error += chunk), changed()));
    child.on("close", () => ((this.#isEnded = true), changed()));
  }

  /** The first groups of the first `count` matches in standard output, once there are as many. */
  async matches(pattern: RegExp, count: number): Promise<readonly string[]> {
    const found = () => [...this.#out.matchAll(pattern)].map(([, group = ""]) => group);
    await this.#until(() => found().length >= count);
    return found().slice(0, count);
  }

  /** Resolves when standard error matches. */
  complains(pattern: RegExp): Promise<void> {
    return this.#until(() => pattern.test(this.#error));
  }

  async #until(isMet: () => boolean): Promise<void> {
    while (!isMet()) {
      assert.ok(!this.#isEnded, `the program has ended: ${this.#out}${this.#error}`);
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  [Symbol.dispose](): void {
    this.child.kill();
  }
}
