import { afterwards, type Awaitable } from "#base";
import type { Span } from "#request";

/**
 * The path of a request as a list of stages. A stage names what it needs of the context and what
 * it adds to it; a chain in which something is needed before it was added does not compile.
 */
export interface Stage<Needs extends object, Adds extends object> {
  readonly name: string;
  /** On this server it would do nothing: requests pass it by, and lack what it adds. */
  readonly isIdle?: boolean;
  /**
   * Adds to the context by calling `next`, which runs all later stages; not calling it ends the
   * request.
   */
  readonly run: (context: Needs, next: (added: Adds) => Promise<void>) => Awaitable<void>;
}

/** A context with a span has the work of each later stage recorded as a piece of it. */
export interface Traced {
  readonly span?: Span;
}

/**
 * Hears of a passage through a stage: milliseconds from entering it until it passed on, or until
 * its end if it did not.
 */
export type StageObserver = (milliseconds: number) => void;

export class Chain<Base extends object, Have extends Base> {
  private constructor(private readonly stages: readonly Stage<any, any>[]) {}

  static of<Base extends object>(): Chain<Base, Base> {
    return new Chain<Base, Base>([]);
  }

  get names(): readonly string[] {
    return this.stages.map((stage) => stage.name);
  }

  // Reads as what it does; a chain is never returned from an async function, where `then` would
  // be called.
  // oxlint-disable-next-line unicorn/no-thenable
  then<Adds extends object>(stage: Stage<Have, Adds>): Chain<Base, Have & Adds> {
    return new Chain<Base, Have & Adds>([...this.stages, stage]);
  }

  /**
   * The stages as one function. The context object is extended in place as stages pass on.
   * `observerOf` answers who hears of a stage; undefined = nobody.
   */
  compose(
    observerOf: (stage: string) => StageObserver | undefined,
  ): (context: Base) => Promise<void> {
    const stages = this.stages.filter(({ isIdle }) => isIdle !== true);
    const observers = stages.map(({ name }) => observerOf(name));
    const enter = (index: number, context: object): Promise<void> => {
      const stage = stages[index];
      if (stage === undefined) return done;
      const observer = observers[index];
      const span = (context as Traced).span?.child(stage.name);
      const entered = observer === undefined ? 0 : performance.now();
      let passed = false;
      const leave = () => {
        if (passed) return;
        passed = true;
        observer?.(performance.now() - entered);
        span?.end();
      };
      const next = (added: object): Promise<void> => {
        leave();
        return enter(index + 1, Object.assign(context, added));
      };
      const work =
        span === undefined
          ? started(stage, context, next)
          : span.run(() => started(stage, context, next));
      // Most stages pass on at once, and then there is nothing left to wait for here.
      const isOver = passed || (observer === undefined && span === undefined);
      return isOver ? work : afterwards(work, leave);
    };
    return (context) => enter(0, context);
  }
}

const done = Promise.resolve();

/** A stage may be over at once, and may also throw before its first wait. */
function started(
  stage: Stage<any, any>,
  context: object,
  next: (added: object) => Promise<void>,
): Promise<void> {
  try {
    return stage.run(context, next) ?? done;
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
