import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

interface Outcome {
  readonly status: number | null;
  readonly out: string;
  readonly error: string;
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
