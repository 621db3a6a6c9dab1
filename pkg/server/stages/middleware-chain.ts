import type Koa from "koa";
import { afterwards, type Awaitable } from "#base";
import type { Span } from "#request";

/**
 * A named Koa middleware. Its type names what it needs of the context's state and what it adds to
 * it, so that a chain in which something is needed before it was added does not compile.
 */
export interface Stage<Needs extends object, Adds extends object> {
  readonly name: string;
  /** The stage would do nothing on this server: it is not installed, and adds nothing. */
  readonly isIdle?: boolean;
  /**
   * Calls `next` with what it adds to `context.state` to run all later stages. A stage that does
   * not call it ends the request.
   */
  readonly run: (
    context: StageContext<Needs>,
    next: (added: Adds) => Promise<void>,
  ) => Awaitable<void>;
}

export type StageContext<State extends object> = Koa.ParameterizedContext<State>;

/** A state with a span has each later stage recorded as a child span. */
export interface Traced {
  readonly span?: Span;
}

/**
 * Receives the milliseconds from entering a stage until it called `next`, or until its end if it
 * did not.
 */
export type StageObserver = (milliseconds: number) => void;

/** Installs stages on a Koa application in their order, each timed, counted and traced. */
export class MiddlewareChain<Have extends object> {
  private constructor(
    private readonly app: Koa,
    private readonly observerOf: (stage: string) => StageObserver | undefined,
  ) {}

  /** `observerOf` returns the observer of a stage; undefined = its time is not measured. */
  static on<Base extends object>(
    app: Koa,
    observerOf: (stage: string) => StageObserver | undefined,
  ): MiddlewareChain<Base> {
    return new MiddlewareChain<Base>(app, observerOf);
  }

  use<Adds extends object>(stage: Stage<Have, Adds>): MiddlewareChain<Have & Adds> {
    if (stage.isIdle !== true) this.app.use(middlewareOf(stage, this.observerOf(stage.name)));
    return this as unknown as MiddlewareChain<Have & Adds>;
  }
}

/** The state object is extended in place as stages call `next`. */
function middlewareOf(stage: Stage<any, any>, observer: StageObserver | undefined): Koa.Middleware {
  return (context, next) => {
    const { state } = context;
    const span = (state as Traced).span?.child(stage.name);
    if (observer === undefined && span === undefined) {
      return stage.run(context, (added) => {
        Object.assign(state, added);
        return next();
      });
    }
    const entered = performance.now();
    let passed = false;
    const leave = () => {
      if (passed) return;
      passed = true;
      observer?.(performance.now() - entered);
      span?.end();
    };
    const run = () =>
      started(stage, context, (added) => {
        leave();
        Object.assign(state, added);
        return next();
      });
    const work = span === undefined ? run() : span.run(run);
    // Most stages call `next` at once, and then there is nothing left to wait for here.
    return passed ? work : afterwards(work, leave);
  };
}

const done = Promise.resolve();

/** A stage may end at once, and may also throw before its first wait. */
function started(
  stage: Stage<any, any>,
  context: StageContext<any>,
  next: (added: object) => Promise<void>,
): Promise<void> {
  try {
    return stage.run(context, next) ?? done;
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
