import cluster, { type Worker } from "node:cluster";
import { setTimeout } from "node:timers/promises";
import { WorkerMetricsExchange } from "./worker-metrics.ts";

/** A worker exited before it was ready; it has logged why. */
export class WorkerError extends Error {
  override readonly name = "WorkerError";
}

export interface WorkersOptions {
  /** Number of worker processes. */
  readonly count: number;
  /** Called once, when all workers are ready. */
  readonly onReady: (url: string, processes: readonly number[]) => void;
  readonly log: (line: string) => void;
  /** Resolves when the workers should stop. */
  readonly signalled: Promise<void>;
}

/** Delay in ms before an exited worker is replaced; doubles up to `maxPauseMs`. */
const firstPauseMs = 500;
const maxPauseMs = 30_000;

/** Whether this process is a worker of `runWorkers`. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Reports to the primary process that this worker serves. */
export function announceReady(url: string): void {
  process.send?.({ ready: url });
}

/** Closes the channel to the primary process, so that this worker can exit. */
export function disconnectWorker(): void {
  if (process.connected) process.disconnect();
}

/**
 * Serves one port from several processes until `signalled` resolves. The primary process accepts
 * connections and distributes them round-robin; each worker is a replica with the same command
 * line. The first worker creates certificates and bootstrap objects; the others start when it is
 * ready. Workers that exit are replaced; they exit with the primary process.
 * @throws WorkerError
 */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const workers = new Workers(options.log);
  const url = await workers.begin();
  await Promise.all(Array.from({ length: options.count - 1 }, () => workers.begin()));
  options.onReady(url, workers.processes);
  await options.signalled;
  await workers.end();
}

type MetricsMessage = Parameters<WorkerMetricsExchange["handle"]>[1];

class Workers {
  readonly #log: (line: string) => void;
  readonly #running = new Set<Worker>();
  readonly #metrics = new WorkerMetricsExchange(this.#running);
  /** URL at which the workers serve, once one of them is ready. */
  #url: string | undefined;
  /** Aborts when the workers end. */
  readonly #life = new AbortController();

  constructor(log: (line: string) => void) {
    this.#log = log;
    // Without round-robin, the kernel would give most connections to a few processes.
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  get processes(): readonly number[] {
    return [...this.#running].map((worker) => worker.process.pid ?? 0);
  }

  /** Starts a worker, replaced when it exits; resolves with its URL when it is ready. */
  begin(): Promise<string> {
    if (this.#running.size === 0) this.#keepPort();
    const worker = cluster.fork();
    this.#running.add(worker);
    return new Promise((resolve, reject) => {
      let isReady = false;
      worker.on("message", (message: MetricsMessage & { readonly ready?: string }) => {
        this.#metrics.handle(worker, message);
        if (message.ready === undefined) return;
        isReady = true;
        this.#url = message.ready;
        resolve(message.ready);
      });
      worker.once("exit", () => {
        this.#running.delete(worker);
        if (!isReady) reject(new WorkerError("a worker exited before it was ready"));
        else if (!this.#isEnding) void this.#replace(worker);
      });
    });
  }

  get #isEnding(): boolean {
    return this.#life.signal.aborted;
  }

  async end(): Promise<void> {
    this.#life.abort();
    const ended = [...this.#running].map(async (worker) => {
      const exit = new Promise((resolve) => worker.once("exit", resolve));
      worker.process.kill("SIGTERM");
      await exit;
    });
    await Promise.all(ended);
  }

  /** Without a worker, no process listens: workers that chose a free port would choose another. */
  #keepPort(): void {
    if (this.#url === undefined) return;
    const port = `--secure-port=${new URL(this.#url).port}`;
    cluster.setupPrimary({ args: [...(cluster.settings.args ?? []), port] });
  }

  async #replace({ process: { pid } }: Worker): Promise<void> {
    this.#log(`worker ${pid} exited; starting another one`);
    const { signal } = this.#life;
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, maxPauseMs)) {
      // The timer keeps the process alive if no worker is left.
      await setTimeout(pause, undefined, { signal }).catch(() => undefined);
      if (this.#isEnding) return;
      try {
        await this.begin();
        return;
      } catch (error) {
        if (!(error instanceof WorkerError)) throw error;
        this.#log(error.message);
      }
    }
  }
}
