import { finallyDo } from "#base";
import type { User } from "#request";
import type { Limits } from "../../limits.ts";
import type { PrometheusMetrics, SeatKind } from "../../metrics/metrics.ts";
import type { Stage } from "../middleware-chain.ts";
import { type Admitted, type Arrived, type Authenticated, nothing, type Parsed } from "../state.ts";
import { BodyBudget, type Seat } from "./body-budget.ts";
import { InFlight, isExempt, seatKind } from "./in-flight.ts";

interface InFlightParts {
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
}

/**
 * Limits the requests in flight and the bodies that are arriving; the flow control of
 * `--enable-priority-and-fairness=false`.
 */
export function maxInFlight({
  limits,
  metrics,
}: InFlightParts): Stage<Arrived & Parsed & Authenticated, Admitted> {
  const { readsInFlight: readOnly, writesInFlight: mutating, watches: watch } = limits;
  const inFlight = new InFlight({ readOnly, mutating, watch }, limits, metrics);
  const bodies = new BodyBudget(limits);
  return {
    name: "flowControl",
    run: ({ state: { exchange, info, user, record } }, next) => {
      const kind = record.longRunning ? "watch" : seatKind(info.verb);
      const seat = new RequestSeat(inFlight, kind, user);
      seat.take();
      if (kind === "mutating") {
        const owner = { name: user.name, isExempt: isExempt(user) };
        exchange.bodyObserver = bodies.observer(owner, seat);
      }
      if (record.longRunning) metrics.requests.longRunning(record, 1);
      return finallyDo(next(nothing), () => {
        seat.release();
        if (record.longRunning) metrics.requests.longRunning(record, -1);
      });
    },
  };
}

/** The seat of a request, which is in flight except while its body arrives. */
class RequestSeat implements Seat {
  private isTaken = false;

  constructor(
    private readonly inFlight: InFlight,
    private readonly kind: SeatKind,
    private readonly user: User,
  ) {}

  bodyArrived(): void {
    this.take();
  }

  waitForBody(): void {
    this.release();
  }

  take(): void {
    this.inFlight.add(this.kind, this.user);
    this.isTaken = true;
  }

  release(): void {
    if (this.isTaken) this.inFlight.remove(this.kind);
    this.isTaken = false;
  }
}
