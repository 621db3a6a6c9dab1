import type { Awaitable } from "#base";
import { seatsTaken } from "../../response/failures.ts";
import type { BodyObserver } from "../../transport/exchange.ts";
import type { Limits } from "../../limits.ts";

/** Minimum charge of a body in bytes: its stream uses memory before the first byte arrives. */
const minBytes = 16 * 1024;
/** Share of the budget that one user's bodies may use. */
const userShare = 1 / 4;

/** The seat of a request, which is released while a slow client sends the body. */
export interface Seat {
  /** The request begins to wait for its body. */
  waitForBody(): void;
  /** The body is complete. Throws, or rejects with, StatusError 429 if no seat is free. */
  bodyArrived(): Awaitable<void>;
}

export interface BodyOwner {
  readonly name: string;
  /** The user is never rejected: a member of `system:masters`. */
  readonly isExempt: boolean;
}

/**
 * Limits the memory of request bodies that are arriving. A request whose body is arriving has no seat,
 * so a slow client uses up only its user's share of the budget. Above the budget, or a user's share of
 * it, requests are rejected with 429.
 */
export class BodyBudget {
  private taken = 0;
  private readonly byUser = new Map<string, number>();

  constructor(private readonly limits: Pick<Limits, "bodyBufferBytes" | "retryAfterSeconds">) {}

  /** Bytes of all bodies that are arriving. */
  get bytes(): number {
    return this.taken;
  }

  /** The observer of one request body. */
  observer(owner: BodyOwner, seat: Seat): BodyObserver {
    let held = 0;
    let size = 0;
    const hold = (bytes: number): void => {
      if (!owner.isExempt && !this.hasRoom(owner.name, bytes)) {
        throw seatsTaken(this.limits.retryAfterSeconds);
      }
      held += bytes;
      this.add(owner.name, bytes);
    };
    return {
      waiting: () => {
        seat.waitForBody();
        hold(minBytes);
      },
      received: (bytes) => {
        size += bytes;
        if (size > held) hold(size - held);
      },
      arrived: () => seat.bodyArrived(),
      ended: () => {
        this.add(owner.name, -held);
        held = 0;
      },
    };
  }

  private hasRoom(user: string, bytes: number): boolean {
    const { bodyBufferBytes } = this.limits;
    const ofUser = this.byUser.get(user) ?? 0;
    return this.taken + bytes <= bodyBufferBytes && ofUser + bytes <= bodyBufferBytes * userShare;
  }

  private add(user: string, bytes: number): void {
    this.taken += bytes;
    const now = (this.byUser.get(user) ?? 0) + bytes;
    if (now > 0) this.byUser.set(user, now);
    else this.byUser.delete(user);
  }
}
