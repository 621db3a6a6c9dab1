import cluster, { type Worker } from "node:cluster";
import { WorkerMetricsExchange } from "./worker-metrics.ts";

/** The first worker did not become ready; it has said why. */
export class WorkerError extends Error {
  override readonly name = "WorkerFault";
}

export interface WorkersOptions {
  /** Processes that serve, beside this one. */
  readonly count: number;
  /** Told once, when all of them are ready. */
  readonly onReady: (url: string, processes: readonly number[]) => void;
  readonly log: (line: string) => void;
  /** Resolves when it is time to end. */
  readonly signalled: Promise<void>;
}

/** A worker that ends early comes back after so many milliseconds; doubles up to the longest. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/** Whether this process is one of several behind one port. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Tells the process that started this worker that it serves. */
export function announceReady(url: string): void {
  process.send?.({ ready: url });
}

/** Lets go of the process that started this worker, so that this one can end. */
export function disconnectWorker(): void {
  if (process.connected) process.disconnect();
}

/**
 * Serves one port from several processes until it is time to end: this one accepts connections and
 * hands them out in turn, each of the others is a replica that runs the same command line. The
 * first one makes what a first start makes (certificates, objects); the others begin when it is
 * ready. One that dies is replaced. When this process dies, all of them do.
 * @throws WorkerFault
 */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  const workers = new Workers(options.log);
  const url = await workers.begin();
  await Promise.all(Array.from({ length: options.count - 1 }, () => workers.begin()));
  options.onReady(url, workers.processes);
  await options.signalled;
  await workers.end();
}

type FigureMessage = Parameters<WorkerMetricsExchange["heed"]>[1];

class Workers {
  readonly #log: (line: string) => void;
  readonly #running = new Set<Worker>();
  readonly #figures = new WorkerMetricsExchange(this.#running);
  #ending = false;

  constructor(log: (line: string) => void) {
    this.#log = log;
    // The system's own choice among waiting processes is often one and the same.
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  get processes(): readonly number[] {
    return [...this.#running].map((worker) => worker.process.pid ?? 0);
  }

  /** Starts a worker that is then kept alive; resolves with its address when it is ready. */
  begin(): Promise<string> {
    const worker = cluster.fork();
    this.#running.add(worker);
    return new Promise((resolve, reject) => {
      let isReady = false;
      worker.on("message", (message: FigureMessage & { readonly ready?: string }) => {
        this.#figures.heed(worker, message);
        if (message.ready === undefined) return;
        isReady = true;
        resolve(message.ready);
      });
      worker.once("exit", () => {
        this.#running.delete(worker);
        if (!isReady) reject(new WorkerError("a worker ended before it was ready"));
        else if (!this.#ending) void this.#replace(worker);
      });
    });
  }

  async end(): Promise<void> {
    this.#ending = true;
    const ended = [...this.#running].map(async (worker) => {
      const exit = new Promise((resolve) => worker.once("exit", resolve));
      worker.process.kill("SIGTERM");
      await exit;
    });
    await Promise.all(ended);
  }

  async #replace({ process: { pid } }: Worker): Promise<void> {
    this.#log(`worker ${pid} has ended; another one takes its place`);
    for (let pause = firstPauseMs; !this.#ending; pause = Math.min(pause * 2, longestPauseMs)) {
      await new Promise((resolve) => setTimeout(resolve, pause).unref());
      if (this.#ending) return;
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
