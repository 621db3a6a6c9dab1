/**
 * A result that is usually available synchronously. A promise costs each caller memory and a turn
 * of the microtask queue, so callers await only when the result is a promise.
 */
export type Awaitable<T> = T | Promise<T>;

/** `value.then(next)`, but synchronous if the value is available. */
export function chainAwaitable<T, U>(
  value: Awaitable<T>,
  next: (value: T) => Awaitable<U>,
): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The result of `work`, or that of `rescue` for the error that it threw or rejected with. */
export function recoverAwaitable<T>(
  work: () => Awaitable<T>,
  rescue: (error: unknown) => Awaitable<T>,
): Awaitable<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(rescue) : value;
  } catch (error) {
    return rescue(error);
  }
}

/** Calls `visit` for each element in turn; returns the first result that is not undefined. */
export function firstDefined<T, U>(
  all: readonly T[],
  visit: (one: T) => Awaitable<U | undefined>,
  from = 0,
): Awaitable<U | undefined> {
  for (let index = from; index < all.length; index++) {
    const result = visit(all[index]!);
    if (result instanceof Promise) {
      return result.then((found) => found ?? firstDefined(all, visit, index + 1));
    }
    if (result !== undefined) return result;
  }
  return undefined;
}

/** `work.finally(done)` with a third of its promises. */
export function finallyDo<T>(work: Promise<T>, done: () => void): Promise<T> {
  return work.then(
    (value) => {
      done();
      return value;
    },
    (error: unknown) => {
      done();
      throw error;
    },
  );
}
