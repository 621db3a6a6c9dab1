/** Shares metrics among workers: each of them serves the metrics of all at `/metrics`. */
import type { Worker } from "node:cluster";
import type { MetricsSnapshot, PrometheusMetrics } from "#server";

/** Message between a worker and the primary process. */
type Message =
  /** A worker requests the metrics of all workers. */
  | { readonly metrics: "requestAll"; readonly by: number }
  /** The primary process requests the metrics of one worker, which responds. */
  | { readonly metrics: "request"; readonly requestId: number }
  | { readonly metrics: "response"; readonly requestId: number; readonly own: MetricsSnapshot }
  /** The metrics of all workers, for the worker that requested them. */
  | {
      readonly metrics: "responseAll";
      readonly by: number;
      readonly all: readonly MetricsSnapshot[];
    };

/** Time limit in ms of one worker's response; without a response, its metrics are omitted. */
const answerMs = 2_000;
/** Time limit in ms for the metrics of all workers; longer than `answerMs`. */
const gatheredMs = 3_000;

/** In a worker: responds with its own metrics, and serves the metrics of all workers. */
export function shareMetrics(metrics: PrometheusMetrics): void {
  const wanted = new Map<number, (all: readonly MetricsSnapshot[]) => void>();
  let last = 0;
  process.on("message", (message: Message) => {
    if (message.metrics === "responseAll") wanted.get(message.by)?.(message.all);
    if (message.metrics !== "request") return;
    const { requestId } = message;
    void metrics.snapshot().then((own) => tell({ metrics: "response", requestId, own }));
  });
  metrics.gather = async () => {
    const by = ++last;
    const all = new Promise<readonly MetricsSnapshot[]>((resolve) => wanted.set(by, resolve));
    tell({ metrics: "requestAll", by });
    const found = await orAfter(gatheredMs, all, []);
    wanted.delete(by);
    return found;
  };
}

function tell(message: Message): void {
  if (process.connected) process.send?.(message);
}

/** In the primary process: gathers the metrics of all workers when one of them requests it. */
export class WorkerMetricsExchange {
  readonly #answers = new Map<number, (own: MetricsSnapshot) => void>();
  #last = 0;

  constructor(private readonly workers: ReadonlySet<Worker>) {}

  handle(worker: Worker, message: Message): void {
    if (message.metrics === "response") this.#answers.get(message.requestId)?.(message.own);
    if (message.metrics === "requestAll") void this.#gather(worker, message.by);
  }

  async #gather(worker: Worker, by: number): Promise<void> {
    const found = await Promise.all([...this.workers].map((each) => this.#ask(each)));
    const all = found.filter((own) => own !== undefined);
    send(worker, { metrics: "responseAll", by, all });
  }

  async #ask(worker: Worker): Promise<MetricsSnapshot | undefined> {
    const requestId = ++this.#last;
    const own = new Promise<MetricsSnapshot>((resolve) => this.#answers.set(requestId, resolve));
    send(worker, { metrics: "request", requestId });
    const found = await orAfter(answerMs, own, undefined);
    this.#answers.delete(requestId);
    return found;
  }
}

function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message);
}

async function orAfter<T, E>(ms: number, work: Promise<T>, otherwise: E): Promise<T | E> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<E>((resolve) => {
    timer = setTimeout(() => resolve(otherwise), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
