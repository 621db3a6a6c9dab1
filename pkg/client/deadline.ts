import { type Clock, plannedEnd, realClock } from "#base";

/** The work exceeded its deadline. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
  constructor(ms: number) {
    super(`deadline of ${ms} ms exceeded`);
  }
}

export interface Deadline {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** Runs `work` with a signal that aborts with the given one, or with DeadlineExceeded after `ms`. */
export async function withDeadline<T>(
  { clock, ms, signal }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const life = new AbortController();
  const leave = () => life.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  const over = new AbortController();
  const background = { background: true };
  const timeout = realClock(clock)
    .sleep(ms, over.signal, background)
    .then(
      () => life.abort(new DeadlineExceeded(ms)),
      () => undefined,
    );
  try {
    return await Promise.race([work(life.signal), rejectOnAbort(life.signal)]);
  } finally {
    over.abort(plannedEnd);
    signal.removeEventListener("abort", leave);
    await timeout;
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
