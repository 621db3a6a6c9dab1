import type { Awaitable } from "#base";
import { seatsTaken } from "../../response/failures.ts";
import type { BodyObserver } from "../../transport/exchange.ts";
import type { Limits } from "../../limits.ts";

/** What a body counts at least, in bytes: its stream takes memory before its first byte. */
const SMALLEST = 16 * 1024;
/** A user's bodies may take this share of the budget. */
const USER_SHARE = 1 / 4;

/** The seat of a request. A slow sender of a body must not keep it from others. */
export interface Seat {
  /** The request waits for its body from now on. */
  waitForBody(): void;
  /** The body is complete. Throws, or rejects with, StatusError 429 when there is no seat. */
  bodyArrived(): Awaitable<void>;
}

export interface BodyOwner {
  readonly name: string;
  /** Is never refused, as members of `system:masters`. */
  readonly isExempt: boolean;
}

/**
 * Bounds the memory of request bodies that are arriving. Such a request has no seat: a client that
 * sends slowly takes its own share of the budget, and no seat from others. Above the budget, and
 * above a user's share of it, requests are refused with 429.
 */
export class BodyBudget {
  private taken = 0;
  private readonly byUser = new Map<string, number>();

  constructor(private readonly limits: Pick<Limits, "bodyBufferBytes" | "retryAfterSeconds">) {}

  /** Bytes of all bodies that are arriving. */
  get bytes(): number {
    return this.taken;
  }

  /** For one body, which is read once. */
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
        hold(SMALLEST);
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
    return this.taken + bytes <= bodyBufferBytes && ofUser + bytes <= bodyBufferBytes * USER_SHARE;
  }

  private add(user: string, bytes: number): void {
    this.taken += bytes;
    const now = (this.byUser.get(user) ?? 0) + bytes;
    if (now > 0) this.byUser.set(user, now);
    else this.byUser.delete(user);
  }
}
