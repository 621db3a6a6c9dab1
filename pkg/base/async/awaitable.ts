/**
 * A result that is usually available synchronously. A promise costs each caller memory and a turn
 * of the microtask queue, so callers await only when the result is a promise.
 */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value, at once if it is there. */
export function whenThere<T, U>(
  value: Awaitable<T>,
  goOn: (value: T) => Awaitable<U>,
): Awaitable<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** What `work` answers, or what `rescue` makes of the error that it threw or rejected with. */
export function rescued<T>(
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

/** The first result that is not undefined, asking one element after the other. */
export function firstAnswer<T, U>(
  all: readonly T[],
  ask: (one: T) => Awaitable<U | undefined>,
  from = 0,
): Awaitable<U | undefined> {
  for (let index = from; index < all.length; index++) {
    const answer = ask(all[index]!);
    if (answer instanceof Promise) {
      return answer.then((found) => found ?? firstAnswer(all, ask, index + 1));
    }
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** As `work.finally(done)`, with a third of its promises. */
export function afterwards<T>(work: Promise<T>, done: () => void): Promise<T> {
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
