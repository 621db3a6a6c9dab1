import { afterwards } from "#base";
import type { User } from "#request";
import type { Limits } from "../limits.ts";
import type { PrometheusMetrics, SeatKind } from "../metrics/metrics.ts";
import { seatsTaken } from "../response/failures.ts";
import { BodyBudget, type Seat } from "./body-budget.ts";
import type { Stage } from "./middleware-chain.ts";
import type { Arrived, Authenticated, Nothing, Parsed } from "./state.ts";

interface FlowControlParts {
  readonly limits: Limits;
  readonly metrics: PrometheusMetrics;
}

/**
 * Bounds the requests at work and the bodies that are arriving. Members of `system:masters` are
 * never refused, to be able to help.
 */
export function flowControl({
  limits,
  metrics,
}: FlowControlParts): Stage<Arrived & Parsed & Authenticated, Nothing> {
  const seats = new Seats(limits, metrics);
  const bodies = new BodyBudget(limits);
  return {
    name: "flowControl",
    run: ({ state: { exchange, info, user, record } }, next) => {
      const kind = record.longRunning ? "watch" : seatKind(info.verb);
      const seat = seats.take(kind, user);
      if (kind === "mutating") {
        const owner = { name: user.name, isExempt: isExempt(user) };
        exchange.bodyObserver = bodies.observer(owner, seat);
      }
      if (record.longRunning) metrics.requests.longRunning(record, 1);
      return afterwards(next({}), () => {
        seat.release();
        if (record.longRunning) metrics.requests.longRunning(record, -1);
      });
    },
  };
}

/** Numbers of requests at work, by kind. */
class Seats {
  private readonly taken: Record<SeatKind, number> = { readOnly: 0, mutating: 0, watch: 0 };
  private readonly bound: Readonly<Record<SeatKind, number>>;

  constructor(
    private readonly limits: Limits,
    private readonly metrics: PrometheusMetrics,
  ) {
    const { readsInFlight, writesInFlight, watches } = limits;
    this.bound = { readOnly: readsInFlight, mutating: writesInFlight, watch: watches };
  }

  /** @throws StatusError 429 when none is free. */
  take(kind: SeatKind, user: User): Seat {
    const seat = new RequestSeat(this, kind, user);
    seat.take();
    return seat;
  }

  add(kind: SeatKind, user: User): void {
    if (this.taken[kind] >= this.bound[kind] && !isExempt(user)) {
      throw seatsTaken(this.limits.retryAfterSeconds);
    }
    this.move(kind, 1);
  }

  remove(kind: SeatKind): void {
    this.move(kind, -1);
  }

  private move(kind: SeatKind, by: 1 | -1): void {
    this.taken[kind] += by;
    this.metrics.seats(kind, this.taken[kind]);
  }
}

class RequestSeat implements Seat {
  private isTaken = false;

  constructor(
    private readonly seats: Seats,
    private readonly kind: SeatKind,
    private readonly user: User,
  ) {}

  take(): void {
    this.seats.add(this.kind, this.user);
    this.isTaken = true;
  }

  release(): void {
    if (this.isTaken) this.seats.remove(this.kind);
    this.isTaken = false;
  }
}

function isExempt({ groups }: User): boolean {
  return groups.includes("system:masters");
}

function seatKind(verb: string): SeatKind {
  return verb === "get" || verb === "list" ? "readOnly" : "mutating";
}
