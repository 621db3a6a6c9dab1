/** Longest time in milliseconds that one piece of work may hold the event loop. */
const maxSliceMs = 5;

/** Work that waits for its next turn, in order of arrival. */
const waiting: (() => void)[] = [];

/**
 * Returns a function that long work awaits between its steps: it yields to the event loop whenever the
 * work has taken some milliseconds, and costs almost nothing otherwise. Only one waiting piece of work
 * is resumed per turn of the event loop, so that a new request waits for at most one of them.
 */
export function yieldEvery(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < maxSliceMs) return undefined;
    return new Promise((resolve) => {
      waiting.push(() => {
        since = performance.now();
        resolve();
      });
      // An immediate of work that socket events started would run before the next socket events.
      if (waiting.length === 1) setImmediate(() => setImmediate(resumeNext));
    });
  };
}

/** Whether long work of this process waits for its next turn. */
export function isYielding(): boolean {
  return waiting.length > 0;
}

function resumeNext(): void {
  const resume = waiting.shift();
  if (waiting.length > 0) setImmediate(resumeNext);
  resume?.();
}
