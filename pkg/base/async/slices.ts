import type { Awaitable } from "./awaitable.ts";
import { yieldEvery } from "./yield-every.ts";

/**
 * A generator that does work in slices of about a millisecond, yields after each and returns the result.
 */
export type Slices<T> = Generator<void, T, void>;

/** Members or elements that are processed in one slice. */
export const sliceLength = 1000;

/** Levels of nested values that are processed in slices; generators for all would take longer. */
export const slicedLevels = 3;

/** Does all of the work at once. */
export function atOnce<T>(slices: Slices<T>): T {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
  }
}

/** Does the work while it yields to the event loop, whenever slices have taken some milliseconds. */
export async function inTurns<T>(slices: Slices<T>, pause = yieldEvery()): Promise<T> {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
    const turn = pause();
    if (turn !== undefined) await turn;
  }
}

/** As `inTurns`, but returns the result of work that takes less than some milliseconds at once. */
export function promptly<T>(slices: Slices<T>, pause = yieldEvery()): Awaitable<T> {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
    const turn = pause();
    if (turn !== undefined) return turn.then(() => inTurns(slices, pause));
  }
}
