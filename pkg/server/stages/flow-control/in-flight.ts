import type { User } from "#request";
import type { Limits } from "../../limits.ts";
import type { PrometheusMetrics, SeatKind } from "../../metrics/metrics.ts";
import { seatsTaken } from "../../response/failures.ts";

type Bounds = Readonly<Record<SeatKind, number>>;

/** Counts and limits the requests in flight, by kind. */
export class InFlight {
  private readonly taken: Record<SeatKind, number> = { readOnly: 0, mutating: 0, watch: 0 };

  constructor(
    private readonly bounds: Bounds,
    private readonly limits: Pick<Limits, "retryAfterSeconds">,
    private readonly metrics: PrometheusMetrics,
  ) {}

  /** @throws StatusError 429 above the limit, unless the user is exempt. */
  add(kind: SeatKind, user: User): void {
    if (this.taken[kind] >= this.bounds[kind] && !isExempt(user)) {
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

/** Members of `system:masters` are never rejected, so that they can repair an overloaded server. */
export function isExempt({ groups }: User): boolean {
  return groups.includes("system:masters");
}

/** Kind of a request that is not long-running. */
export function seatKind(verb: string): SeatKind {
  return verb === "get" || verb === "list" ? "readOnly" : "mutating";
}
