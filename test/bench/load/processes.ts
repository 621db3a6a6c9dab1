/** Servers in separate processes, and their costs. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { root } from "../../tidy/source.ts";

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
  return cpuOfProcess(child.pid as number);
}

function cpuOfProcess(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const times = readdirSync(tasks).map((task) => {
    return Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
  });
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1_000;
}

/** CPU time of the thread that runs JavaScript, in µs. */
export function mainThreadCpuOf({ child }: ServerProcess): number {
  const file = `/proc/${child.pid}/task/${child.pid}/schedstat`;
  return Number(readFileSync(file, "utf8").split(" ")[0]) / 1_000;
}

/** Resident memory in MiB. */
export function residentMib({ child }: ServerProcess): number {
  return memoryOf(child.pid as number, "VmRSS");
}

/** A figure of `/proc/<pid>/status` in MiB. */
function memoryOf(pid: number, figure: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}

/** CPU time of a process and its descendants, in µs. */
export function cpuOfTree(pid: number): number {
  return sum(treeOf(pid).map(cpuOfProcess));
}

/** Resident memory of a process and its descendants, in MiB; `peak` since each has started. */
export function memoryOfTree(pid: number, { peak = false } = {}): number {
  return sum(treeOf(pid).map((each) => memoryOf(each, peak ? "VmHWM" : "VmRSS")));
}

function treeOf(pid: number): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8");
    return text.split(" ").filter((word) => word !== "");
  });
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
