import type { Clock, Random } from "#base";
import { isAlreadyExists } from "#meta";
import { ConnectionError } from "./http/transport.ts";

export interface AttemptOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Attempts to send an Event while the server does not respond, and their interval, as in client-go. */
const maxAttempts = 12;
const intervalMs = 10_000;

/**
 * Sends an Event and retries on connection errors. The first interval is random, which spreads the
 * retries of components that lost the same server.
 * @returns undefined if an earlier attempt without a response was successful
 * @throws StatusError if the server rejects it; ConnectionError after the last attempt
 */
export async function sendWithRetries<T>(
  send: () => Promise<T>,
  { clock, random, signal }: AttemptOptions,
): Promise<T | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      if (attempt > 1 && isAlreadyExists(error)) return undefined;
      if (!(error instanceof ConnectionError) || attempt === maxAttempts) throw error;
      await clock.sleep(attempt === 1 ? random.next() * intervalMs : intervalMs, signal);
    }
  }
}
