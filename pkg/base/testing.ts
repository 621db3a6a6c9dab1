import { isYielding } from "./async/yield-every.ts";

/**
 * Waits for so many turns of the event loop in a row in which no long work waits to be resumed: on a
 * loaded machine work yields more often and takes more turns.
 */
export async function quietTurns(count: number): Promise<void> {
  for (let quiet = 0; quiet < count;) {
    await new Promise((resolve) => setImmediate(resolve));
    quiet = isYielding() ? 0 : quiet + 1;
  }
}
