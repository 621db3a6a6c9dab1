/** Lets one at a time work on what has a name; others wait for their turn, in order. */
export class Turns {
  private readonly last = new Map<string, Promise<void>>();

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    const { promise, resolve } = withResolver();
    this.last.set(name, promise);
    try {
      await before;
      return await work();
    } finally {
      if (this.last.get(name) === promise) this.last.delete(name);
      resolve();
    }
  }
}

function withResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
