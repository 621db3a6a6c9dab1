import type Koa from "koa";
import { finallyDo, type Awaitable } from "#base";
import type { Span } from "#request";
import { nothing } from "./state.ts";

/**
 * A named Koa middleware, typed by the state that it needs and adds: a chain in which a stage precedes
 * the one that adds its state does not compile.
 */
export interface Stage<Needs extends object, Adds extends object> {
  readonly name: string;
  /** The stage has no effect on this server: it is not installed. */
  readonly isIdle?: boolean;
  /**
   * Runs all later stages by calling `next` with the members to add to `context.state`. A stage that
   * does not call it ends the request.
   */
  readonly run: (
    context: StageContext<Needs>,
    next: (added: Adds) => Promise<void>,
  ) => Awaitable<void>;
}

export type StageContext<State extends object> = Koa.ParameterizedContext<State>;

/** State of a traced request: each later stage is recorded as a child of the span. */
export interface Traced {
  readonly span?: Span;
}

/**
 * Receives the time in ms from the start of a stage until it calls `next`, or until its end if it does
 * not.
 */
export type StageObserver = (milliseconds: number) => void;

/** Installs stages on a Koa application in order; each is timed and traced. */
export class MiddlewareChain<Have extends object> {
  private constructor(
    private readonly app: Koa,
    private readonly observerOf: (stage: string) => StageObserver | undefined,
  ) {}

  /** `observerOf` returns the observer of a stage; undefined = the stage is not timed. */
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
function middlewareOf(
  { name, run }: Stage<any, any>,
  observer: StageObserver | undefined,
): Koa.Middleware {
  return (context, next) => {
    const { state } = context;
    const span = (state as Traced).span?.child(name);
    if (observer !== undefined || span !== undefined) {
      return new ObservedRun(context, next, { observer, span }).start(run);
    }
    return run(context, (added) => {
      if (added !== nothing) Object.assign(state, added);
      return next();
    });
  };
}

interface RunObservers {
  readonly observer: StageObserver | undefined;
  readonly span: Span | undefined;
}

/** The run of a timed or traced stage for one request. */
class ObservedRun {
  private readonly startedAt = performance.now();
  private isFinished = false;

  constructor(
    private readonly context: StageContext<any>,
    private readonly next: () => Promise<void>,
    private readonly observers: RunObservers,
  ) {}

  start(run: Stage<any, any>["run"]): Promise<void> {
    const { span } = this.observers;
    const callNext = (added: object): Promise<void> => this.callNext(added);
    const work =
      span === undefined
        ? runStage(run, this.context, callNext)
        : span.run(() => runStage(run, this.context, callNext));
    // Most stages call `next` synchronously, so that their time is recorded already.
    return this.isFinished ? work : finallyDo(work, () => this.finish());
  }

  private callNext(added: object): Promise<void> {
    this.finish();
    if (added !== nothing) Object.assign(this.context.state, added);
    return this.next();
  }

  private finish(): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.observers.observer?.(performance.now() - this.startedAt);
    this.observers.span?.end();
  }
}

const done = Promise.resolve();

/** Runs a stage; it may return synchronously, and a synchronous exception becomes a rejection. */
function runStage(
  run: Stage<any, any>["run"],
  context: StageContext<any>,
  next: (added: object) => Promise<void>,
): Promise<void> {
  try {
    return run(context, next) ?? done;
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
