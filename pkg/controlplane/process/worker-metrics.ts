/** The figures of all workers behind one port, whichever of them is asked. */
import type { Worker } from "node:cluster";
import type { Figures, PrometheusMetrics } from "#server";

/** Between workers and the process that started them. */
type Message =
  /** A worker wants the figures of all. */
  | { readonly figures: "wanted"; readonly by: number }
  /** The question to one, and its answer. */
  | { readonly figures: "asked"; readonly question: number }
  | { readonly figures: "told"; readonly question: number; readonly own: Figures }
  /** What all have told. */
  | { readonly figures: "gathered"; readonly by: number; readonly all: readonly Figures[] };

/** A worker that does not answer for so long is left out. */
const answerMs = 2_000;
/** Longer than the longest answer. */
const gatheredMs = 3_000;

/** In a worker: answers questions of others, and has the figures of all shown. */
export function shareMetrics(metrics: PrometheusMetrics): void {
  const wanted = new Map<number, (all: readonly Figures[]) => void>();
  let last = 0;
  process.on("message", (message: Message) => {
    if (message.figures === "gathered") wanted.get(message.by)?.(message.all);
    if (message.figures !== "asked") return;
    const { question } = message;
    void metrics.own().then((own) => tell({ figures: "told", question, own }));
  });
  metrics.gather = async () => {
    const by = ++last;
    const all = new Promise<readonly Figures[]>((resolve) => wanted.set(by, resolve));
    tell({ figures: "wanted", by });
    const found = await orAfter(gatheredMs, all, []);
    wanted.delete(by);
    return found;
  };
}

function tell(message: Message): void {
  if (process.connected) process.send?.(message);
}

/** In the process that started the workers: asks them all when one of them is asked. */
export class WorkerMetricsExchange {
  readonly #answers = new Map<number, (own: Figures) => void>();
  #last = 0;

  constructor(private readonly workers: ReadonlySet<Worker>) {}

  heed(worker: Worker, message: Message): void {
    if (message.figures === "told") this.#answers.get(message.question)?.(message.own);
    if (message.figures === "wanted") void this.#gather(worker, message.by);
  }

  async #gather(worker: Worker, by: number): Promise<void> {
    const found = await Promise.all([...this.workers].map((each) => this.#ask(each)));
    const all = found.filter((own) => own !== undefined);
    send(worker, { figures: "gathered", by, all });
  }

  async #ask(worker: Worker): Promise<Figures | undefined> {
    const question = ++this.#last;
    const own = new Promise<Figures>((resolve) => this.#answers.set(question, resolve));
    send(worker, { figures: "asked", question });
    const found = await orAfter(answerMs, own, undefined);
    this.#answers.delete(question);
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
