/**
 * The path of a request as a list of stages. A stage names what it needs of the context and what
 * it adds to it; a chain in which something is needed before it was added does not compile.
 */
export interface Stage<Needs extends object, Adds extends object> {
  readonly name: string;
  /**
   * Adds to the context by calling `next`, which runs all later stages; not calling it ends the
   * request.
   */
  readonly run: (context: Needs, next: (added: Adds) => Promise<void>) => Promise<void>;
}

/** Hears of every passage through a stage. */
export interface StageObserver {
  /** Milliseconds from entering the stage until it passed on, or until its end if it did not. */
  stage(name: string, milliseconds: number): void;
}

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

  /** The stages as one function. The context object is extended in place as stages pass on. */
  compose(observer: StageObserver): (context: Base) => Promise<void> {
    const { stages } = this;
    const done = Promise.resolve();
    const enter = (index: number, context: object, entered: number): Promise<void> => {
      const stage = stages[index];
      if (stage === undefined) return done;
      let passed = false;
      const leave = (): number => {
        const now = performance.now();
        passed = true;
        observer.stage(stage.name, now - entered);
        return now;
      };
      const work = started(stage, context, (added) =>
        enter(index + 1, Object.assign(context, added), leave()),
      );
      // Most stages pass on at once, and then there is nothing left to wait for here.
      return passed ? work : work.finally(() => passed || leave());
    };
    return (context) => enter(0, context, performance.now());
  }
}

/** A stage may also throw before its first wait. */
function started(
  stage: Stage<any, any>,
  context: object,
  next: (added: object) => Promise<void>,
): Promise<void> {
  try {
    return stage.run(context, next);
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
