import type { Clock, Random } from "#base";
import { isAlreadyExists } from "#meta";
import { ConnectionError } from "./http/transport.ts";

export interface AttemptOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Attempts to send an Event to a server that does not answer, and the ms between two, as of client-go. */
const mostAttempts = 12;
const intervalMs = 10_000;

/**
 * Sends an Event until the server has answered. The first interval is random, so that components
 * that lost the same server do not come back at once.
 * @returns undefined if an earlier attempt was recorded without an answer
 * @throws StatusError if the server rejects it; ConnectionError after the last attempt
 */
export async function sendUntilAnswered<T>(
  send: () => Promise<T>,
  { clock, random, signal }: AttemptOptions,
): Promise<T | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      if (attempt > 1 && isAlreadyExists(error)) return undefined;
      if (!(error instanceof ConnectionError) || attempt === mostAttempts) throw error;
      await clock.sleep(attempt === 1 ? random.next() * intervalMs : intervalMs, signal);
    }
  }
}
