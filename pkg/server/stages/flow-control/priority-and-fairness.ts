import { afterwards, type Awaitable, type Clock, whenThere } from "#base";
import type {
  Admission,
  ClassifiedRequest,
  FlowController,
  Rejection,
  WaitLimits,
} from "#flowcontrol";
import type { Registry } from "#registry";
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
  readonly registry: Pick<Registry, "cachedSize">;
  readonly flowControl: FlowController;
}

type Needs = Arrived & Parsed & Timed & Authenticated & Audited;

/** A request waits for its seats for this part of the time that it has at most. */
const waitShare = 1 / 4;
/** Longest wait in ms, whatever time a request has. */
const longestWaitMs = 60_000;

/**
 * API Priority and Fairness: each request waits in the queue of its flow until its seats are free.
 * A watch occupies its seats until it is initialized; other long-running requests take none.
 */
export function priorityAndFairness(parts: FairnessParts): Stage<Needs, Admitted> {
  const { limits, metrics, clock, registry, flowControl } = parts;
  const bounds = { readOnly: Infinity, mutating: Infinity, watch: limits.watches };
  const inFlight = new InFlight(bounds, limits, metrics);
  const bodies = new BodyBudget(limits);
  const run: Stage<Needs, Admitted>["run"] = ({ state }, next) => {
    const { exchange, info, user, query, resource, record, trail, timeoutMs, received } = state;
    const isWatch = info.verb === "watch";
    if (record.longRunning && !isWatch) return next(nothing);
    const { namespace } = info;
    const sizeOf = () => resource && registry.cachedSize({ resource, namespace });
    const request = flowControl.classify({ user, info, query, sizeOf });
    tellClassification(exchange, request);
    record.flow = request;
    const waitMs = Math.min(timeoutMs * waitShare, longestWaitMs);
    const wait = new RequestWait(exchange, received + waitMs);
    return whenThere(request.start(wait), (result) => {
      if (!result.admitted) return reject(state, result);
      record.queueWaitMs = result.waited;
      if (result.waited > 0) trail?.queued(result.waited);
      const restart = () => request.start(new RequestWait(exchange, clock.monotonic() + waitMs));
      const seats = new RequestSeats(result, restart, limits.bodySeatTime);
      const admitted = clock.monotonic();
      const release = () => {
        if (seats.end()) record.seatedMs = clock.monotonic() - admitted;
      };
      if (isWatch) {
        const forget = flowControl.watches.register(info, query.get("fieldSelector") ?? "");
        return afterwards(next({ initialized: release }), () => {
          release();
          forget();
        });
      }
      const kind = seatKind(info.verb);
      if (kind === "mutating") {
        const owner = { name: user.name, isExempt: isExempt(user) };
        exchange.bodyObserver = bodies.observer(owner, seats);
      }
      inFlight.add(kind, user);
      return afterwards(next(nothing), () => {
        inFlight.remove(kind);
        release();
      });
    });
  };
  return {
    name: "flowControl",
    run: (context, next) => {
      const { record, user } = context.state;
      if (!record.longRunning) return run(context, next);
      inFlight.add("watch", user);
      metrics.requests.longRunning(record, 1);
      const work = (async () => run(context, next))();
      return afterwards(work, () => {
        inFlight.remove("watch");
        metrics.requests.longRunning(record, -1);
      });
    },
  };
}

/** Names the objects that classified the request, by uid so that their names stay private. */
function tellClassification({ response }: Exchange, request: ClassifiedRequest): void {
  response.addHeader("x-kubernetes-pf-flowschema-uid", request.flowSchema.uid ?? "");
  response.addHeader("x-kubernetes-pf-prioritylevel-uid", request.priorityLevel.uid ?? "");
}

/** 429 in kube-apiserver's words, unless the request has ended while it waited. */
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

/** Reads the signal of the request only when it has to wait: most requests need none. */
class RequestWait implements WaitLimits {
  constructor(
    private readonly exchange: Exchange,
    readonly deadline: number,
  ) {}

  get signal(): AbortSignal {
    return this.exchange.signal;
  }
}

/**
 * The seats of an executing request. It keeps them while its body arrives, but not from others for
 * long: then it gives them up, and waits for seats once more when the body is complete.
 */
class RequestSeats implements Seat {
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(
    private admission: Admission | undefined,
    private readonly restart: () => Awaitable<Admission | Rejection>,
    /** Time in ms for which the seats are kept while the body arrives. */
    private readonly keptMs: number,
  ) {}

  release(): void {
    this.timer = setTimeout(() => this.free(), this.keptMs);
  }

  take(): Awaitable<void> {
    clearTimeout(this.timer);
    if (this.admission !== undefined || this.isOver) return undefined;
    return whenThere(this.restart(), (result) => {
      if (!result.admitted) throw seatsTaken(result.retryAfter);
      this.admission = result;
      if (this.isOver) this.free();
    });
  }

  /** The request is over, or the watch initialized. False if it was so before. */
  end(): boolean {
    if (this.isOver) return false;
    clearTimeout(this.timer);
    this.isOver = true;
    this.free();
    return true;
  }

  private free(): void {
    this.admission?.release();
    this.admission = undefined;
  }
}
