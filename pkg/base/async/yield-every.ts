/** Longest time in milliseconds that one piece of work may hold the event loop. */
const longest = 8;

/**
 * For long work: to be awaited between its steps. Lets others have their turn whenever the work has
 * taken some milliseconds, and costs next to nothing otherwise.
 */
export function yieldEvery(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < longest) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now();
        resolve();
      });
    });
  };
}
