import { type Clock, seededRandom } from "#base";
import { type Instruments, noInstruments } from "#request";
import type {
  Admission,
  FlowRequest,
  LimitedSettings,
  PriorityLevelSettings,
  PriorityLevelState,
  Rejection,
} from "./contract.ts";
import { FairDispatcher } from "./dispatch/dispatcher.ts";
import { FlowControlMetrics } from "./metrics/recorder.ts";
import { type HeapElement, IndexedHeap } from "./queuing/indexed-heap.ts";

interface Event extends HeapElement {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A discrete-event clock; sleeps are events. */
export class ModelClock implements Clock {
  private time = 0;
  private events = 0;
  /** Delay in ms of the end of sleeps, to model a busy event loop. */
  lateness = 0;
  private readonly queue = new IndexedHeap<Event>((a, b) =>
    a.at === b.at ? a.order < b.order : a.at < b.at,
  );

  now(): number {
    return Date.parse("2030-01-01T00:00:00Z") + this.time;
  }

  nowMicros(): number {
    return this.now() * 1000;
  }

  monotonic(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const event = this.at(this.time + ms + this.lateness, resolve);
      signal?.addEventListener("abort", () => {
        this.queue.remove(event);
        reject(signal.reason);
      });
    });
  }

  /** Schedules `run` in `ms`. */
  after(ms: number, run: () => void): void {
    this.at(this.time + ms, run);
  }

  /** Runs all events of the next `ms`, including those that they schedule. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await settled();
    for (let next = this.queue.first(); next !== undefined; next = this.queue.first()) {
      if (next.at > end) break;
      this.queue.remove(next);
      this.time = next.at;
      next.run();
      await settled();
    }
    this.time = end;
  }

  private at(at: number, run: () => void): Event {
    const event = { at, order: this.events++, run, heapIndex: -1 };
    this.queue.place(event);
    return event;
  }
}

/** Drains microtasks: the sleep, the request that it settles, and the caller each take one. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await Promise.resolve();
}

export interface TestRequest {
  readonly level?: string;
  readonly flowSchema?: string;
  readonly flow?: string;
  readonly seats?: number;
  readonly finalSeats?: number;
  readonly additionalLatency?: number;
  readonly verb?: string;
  readonly signal?: AbortSignal;
  /** Queue wait limit in ms. */
  readonly maxWaitMs?: number;
}

interface TestOptions {
  /** Seed of shuffle sharding. */
  readonly seed?: number;
  readonly instruments?: Instruments;
}

export type Result = Admission | Rejection;

/** A level with sixteen queues. */
export const fair: LimitedSettings = {
  name: "fair",
  type: "Limited",
  nominalConcurrencyShares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queuing: { queues: 16, handSize: 4, queueLengthLimit: 1000 },
};

/** A dispatcher on a model clock. */
export class TestDispatcher {
  readonly clock = new ModelClock();
  readonly dispatcher: FairDispatcher;

  constructor(
    levels: readonly PriorityLevelSettings[],
    seats: number,
    { seed = 7, instruments = noInstruments }: TestOptions = {},
  ) {
    const { clock } = this;
    const metrics = new FlowControlMetrics(instruments, clock);
    this.dispatcher = new FairDispatcher({ clock, random: seededRandom(seed), metrics });
    this.dispatcher.configure(levels, seats);
  }

  /** The result, or "waits" if the request was queued. */
  startNow(request: TestRequest = {}): Result | "waits" {
    const result = this.start(request);
    return result instanceof Promise ? "waits" : result;
  }

  start(request: TestRequest = {}): Result | Promise<Result> {
    const { level = "fair", maxWaitMs = Infinity } = request;
    const signal = request.signal ?? (unaborted as AbortSignal);
    const deadline = this.clock.monotonic() + maxWaitMs;
    return this.dispatcher.start(level, flowRequest(request), { signal, deadline });
  }

  /** Starts a request and calls `then` with its result, now or later. */
  startThen(request: TestRequest, then: (result: Result) => void): void {
    const result = this.start(request);
    if (result instanceof Promise) void result.then(then);
    else then(result);
  }

  /** Executes a request for `ms` once it is admitted. */
  execute(
    request: TestRequest,
    ms: number,
    done: (result: Result) => void = () => undefined,
  ): void {
    this.startThen(request, (result) => {
      if (!result.admitted) return done(result);
      this.clock.after(ms, () => {
        result.release();
        done(result);
      });
    });
  }

  state(level = "fair"): PriorityLevelState {
    const found = this.dispatcher.levels().find(({ name }) => name === level);
    if (found === undefined) throw new Error(`there is no level ${level}`);
    return found;
  }
}

function flowRequest(request: TestRequest): FlowRequest {
  const { flowSchema = "all", flow = "", seats = 1, verb = "get" } = request;
  const { finalSeats = 0, additionalLatency = 0 } = request;
  const [namespace, resource, name] = ["shop", "configmaps", "colours"];
  return {
    flowSchema,
    flowDistinguisher: flow,
    estimate: { initialSeats: seats, finalSeats, additionalLatency },
    userName: flow,
    info: {
      isResource: true,
      path: `/api/v1/namespaces/${namespace}/${resource}/${name}`,
      verb,
      apiPrefix: "api",
      group: "",
      version: "v1",
      namespace,
      resource,
      subresource: "",
      name,
      rest: [],
    },
  };
}

/** A signal that never aborts; real ones would dominate the time of tests with a million requests. */
const unaborted: Pick<AbortSignal, "aborted" | "addEventListener" | "removeEventListener"> = {
  aborted: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
};
