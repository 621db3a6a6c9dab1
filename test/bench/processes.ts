/** Servers in processes of their own, and what they cost. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { root } from "../tidy/source.ts";

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts the API server that was built in `directory`; resolves when it serves. */
export function startServerProcess(
  flags: readonly string[],
  directory: string = root,
  node: string = process.execPath,
  nodeFlags: readonly string[] = [],
): Promise<ServerProcess> {
  const common = ["apiserver", "--secure-port=0", "--bind-address=127.0.0.1"];
  const words = [...nodeFlags, "dist/keelson.js", ...common, ...flags];
  const child = spawn(node, words, {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const [url] = /https:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      if (url !== undefined) resolve({ child, url });
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", () => reject(new Error(text)));
  });
}

/** CPU time of all threads of the process, in µs. */
export function cpuOf({ child }: ServerProcess): number {
  const tasks = `/proc/${child.pid}/task`;
  const times = readdirSync(tasks).map((task) => {
    return Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
  });
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1_000;
}

/** Resident memory in MiB. */
export function residentMib({ child }: ServerProcess): number {
  const [, kb] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
