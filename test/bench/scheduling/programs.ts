/** Schedulers in separate processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../tidy/source.ts";

export interface Scheduler {
  readonly name: string;
  readonly command: readonly string[];
}

export const keelson: Scheduler = {
  name: "keelson",
  command: [process.execPath, "dist/keelson.js", "scheduler"],
};

interface Api {
  readonly url: string;
  readonly token: string;
  /** Directory for files. */
  readonly folder: string;
}

/** Writes a kubeconfig for the API server. Returns its path. */
export function writeKubeconfig({ url, token, folder }: Api): string {
  const kubeconfig = path.join(folder, "kubeconfig");
  writeJson(kubeconfig, {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: url, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
  return kubeconfig;
}

/** Starts a scheduler without leader election and in effect without a limit on its requests. */
export function startScheduler({ command }: Scheduler, api: Api): ChildProcess {
  const kubeconfig = writeKubeconfig(api);
  const config = path.join(api.folder, "scheduler.json");
  writeJson(config, {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig, qps: 5_000, burst: 5_000 },
    leaderElection: { leaderElect: false },
  });
  const [program, ...words] = command;
  const flags = [`--config=${config}`, "--secure-port=0"];
  return spawn(program!, [...words, ...flags], { cwd: root, stdio: "ignore" });
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, JSON.stringify(value));
}

/**
 * Memory of a process in MiB: resident now, at its peak, and the part that is not backed by files,
 * such as the program.
 */
export function memoryMib({ pid }: ChildProcess) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (figure: string) =>
    Number(new RegExp(`${figure}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { resident: mib("VmRSS"), peak: mib("VmHWM"), anonymous: mib("RssAnon") };
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
