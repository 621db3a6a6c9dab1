import { finallyDo, type Awaitable, type Clock, realClock, chainAwaitable } from "#base";
import type {
  Admission,
  ClassifiedRequest,
  FlowController,
  Rejection,
  WaitLimits,
} from "#flowcontrol";
import type { Limits } from "../../limits.ts";
import type { PrometheusMetrics } from "../../metrics/metrics.ts";
import { seatsTaken } from "../../response/failures.ts";
import { sendResponse } from "../../response/response-writer.ts";
import type { Exchange } from "../../transport/exchange.ts";
import type { Stage } from "../middleware-chain.ts";
import {
  type Admitted,
  type Arrived,
  type Audited,
  type Authenticated,
  nothing,
  type Parsed,
  type Timed,
} from "../state.ts";
import { BodyBudget, type Seat } from "./body-budget.ts";
import { InFlight, isExempt, seatKind } from "./in-flight.ts";

interface FairnessParts {
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
  readonly clock: Clock;
  readonly flowControl: FlowController;
}

type Needs = Arrived & Parsed & Timed & Authenticated & Audited;
type Next = (added: Admitted) => Promise<void>;

/** Limit of the wait in a queue, as a share of the request's timeout; kube-apiserver's. */
const waitShare = 1 / 4;
/** Limit of the wait in a queue in ms, whatever the timeout. */
const maxWaitMs = 60_000;

/**
 * API Priority and Fairness: each request waits in the queue of its flow until its seats are free.
 * A watch occupies its seats until it is initialized; other long-running requests take none.
 */
export function priorityAndFairness(parts: FairnessParts): Stage<Needs, Admitted> {
  const { limits, metrics, flowControl } = parts;
  const clock = realClock(parts.clock);
  const bounds = { readOnly: Infinity, mutating: Infinity, watch: limits.watches };
  const inFlight = new InFlight(bounds, limits, metrics);
  const bodies = new BodyBudget(limits);
  const execute = (state: Needs, seats: RequestSeats, next: Next): Promise<void> => {
    const { exchange, info, user, query } = state;
    if (info.verb === "watch") {
      const unregister = flowControl.watches.register(info, query.get("fieldSelector") ?? "");
      return finallyDo(next({ initialized: () => seats.end() }), () => {
        seats.end();
        unregister();
      });
    }
    const kind = seatKind(info.verb);
    if (kind === "mutating") {
      const owner = { name: user.name, isExempt: isExempt(user) };
      exchange.bodyObserver = bodies.observer(owner, seats);
    }
    inFlight.add(kind, user);
    return finallyDo(next(nothing), () => {
      inFlight.remove(kind);
      seats.end();
    });
  };
  const run = (state: Needs, next: Next): Awaitable<void> => {
    const { exchange, record } = state;
    if (record.longRunning && state.info.verb !== "watch") return next(nothing);
    const request = flowControl.classify(state);
    addClassificationHeaders(exchange, request);
    record.flow = request;
    const seats = new RequestSeats(state, request, { clock, bodySeatMs: limits.bodySeatTime });
    const result = request.start(seats);
    const proceed = (found: Admission | Rejection) => {
      if (!found.admitted) return reject(state, found);
      seats.take(found);
      return execute(state, seats, next);
    };
    return result instanceof Promise ? result.then(proceed) : proceed(result);
  };
  return {
    name: "flowControl",
    run: ({ state }, next) => {
      const { record, user } = state;
      if (!record.longRunning) return run(state, next);
      inFlight.add("watch", user);
      metrics.requests.longRunning(record, 1);
      const work = (async () => run(state, next))();
      return finallyDo(work, () => {
        inFlight.remove("watch");
        metrics.requests.longRunning(record, -1);
      });
    },
  };
}

/** Adds the uids of FlowSchema and PriorityLevelConfiguration; names would disclose configuration. */
function addClassificationHeaders({ response }: Exchange, request: ClassifiedRequest): void {
  response.addHeader("x-kubernetes-pf-flowschema-uid", request.flowSchemaObject.metadata.uid ?? "");
  response.addHeader(
    "x-kubernetes-pf-prioritylevel-uid",
    request.priorityLevelObject.metadata.uid ?? "",
  );
}

/** Responds 429 with kube-apiserver's message, unless the request was aborted while it waited. */
function reject({ exchange, record }: Arrived, { retryAfter }: Rejection): void {
  if (exchange.reason !== undefined) throw exchange.reason;
  record.code = 429;
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "retry-after": String(retryAfter),
    "x-content-type-options": "nosniff",
  };
  sendResponse(exchange, { status: 429, headers }, "Too many requests, please try again later.\n");
}

interface SeatOptions {
  readonly clock: Clock;
  /** Time in ms after which the seats are released if the body has not arrived. */
  readonly bodySeatMs: number;
}

/**
 * The seats of a request, and its limit for waiting for them. If its body takes longer than
 * `bodySeatMs` to arrive, the seats are released, and the request queues again for the complete body.
 */
class RequestSeats implements Seat, WaitLimits {
  deadline: number;
  private readonly waitMs: number;
  private admission: Admission | undefined;
  private admittedAt = 0;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(
    private readonly state: Needs,
    private readonly request: ClassifiedRequest,
    private readonly options: SeatOptions,
  ) {
    this.waitMs = Math.min(state.timeoutMs * waitShare, maxWaitMs);
    this.deadline = state.received + this.waitMs;
  }

  /** Created on use: most requests do not wait and need no signal. */
  get signal(): AbortSignal {
    return this.state.exchange.signal;
  }

  /** The request was admitted. */
  take(admission: Admission): void {
    const { waited } = admission;
    const { record, trail } = this.state;
    this.admission = admission;
    this.admittedAt = this.options.clock.monotonic();
    if (waited === 0) return;
    record.queueWaitMs = waited;
    trail?.queued(waited);
  }

  waitForBody(): void {
    this.timer = setTimeout(() => this.free(), this.options.bodySeatMs);
  }

  bodyArrived(): Awaitable<void> {
    clearTimeout(this.timer);
    if (this.admission !== undefined || this.isOver) return undefined;
    this.deadline = this.options.clock.monotonic() + this.waitMs;
    return chainAwaitable(this.request.start(this), (result) => {
      if (!result.admitted) throw seatsTaken(result.retryAfter);
      this.admission = result;
      if (this.isOver) this.free();
    });
  }

  /** The request is completed, or the watch initialized. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    this.state.record.seatedMs = this.options.clock.monotonic() - this.admittedAt;
    this.free();
  }

  private free(): void {
    this.admission?.release();
    this.admission = undefined;
  }
}
