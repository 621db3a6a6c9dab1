/** State of an evaluation in slices, which is interrupted and continued. */
import type { Slices } from "#base";
import type { ListValue, MapValue, Value } from "../value/values.ts";

/** Cost units after which an evaluation in slices is interrupted: less than a millisecond of work. */
const sliceUnits = 5_000;

/** Thrown to interrupt an evaluation. Logical operators do not absorb it. */
class Interruption extends Error {
  override readonly name = "Interruption";
}

const interruption = new Interruption("evaluation is interrupted");

/** The part of a frame that counts costs. */
interface Costs {
  readonly spent: number;
  spend(cost: number): void;
}

/** State of a fold that has started. */
export interface FoldState {
  readonly over: ListValue | MapValue;
  /** The keys of a map. */
  readonly keys: readonly Value[] | undefined;
  /** Index of the next element. */
  next: number;
  /** Cost units of the fold until now, its range included. */
  cost: number;
  /** The result of a fold that has ended. */
  value: Value | undefined;
}

/**
 * The folds of an evaluation. After an interruption the expression is evaluated again from its root,
 * but its folds continue where they were: their cost is charged again, their work is not repeated.
 */
export class Progress {
  readonly #folds = new Map<object, FoldState>();
  /** Cost units of this run that were charged without work. */
  #replayed = 0;

  /** Runs the evaluation until it ends or is interrupted; undefined = interrupted. */
  run<T>(evaluate: () => T): T | undefined {
    this.#replayed = 0;
    try {
      return evaluate();
    } catch (error) {
      if (error !== interruption) throw error;
      return undefined;
    }
  }

  stateOf(fold: object): FoldState | undefined {
    return this.#folds.get(fold);
  }
  add(fold: object, state: FoldState): void {
    this.#folds.set(fold, state);
  }

  /** Charges the cost of a fold up to where it continues. */
  replay(frame: Costs, { cost }: FoldState): void {
    this.#replayed += cost;
    frame.spend(cost);
  }

  /** Interrupts an evaluation that has done enough; called after each element, so that each run proceeds. */
  check(frame: Costs): void {
    if (frame.spent - this.#replayed > sliceUnits) throw interruption;
  }
}

/**
 * An evaluation whose result others need: until it has ended, they are interrupted. After an error it
 * is restarted by the next one that needs it.
 */
export class NeededEvaluation<T> {
  #slices: Slices<T> | undefined;
  #ended: { readonly value: T } | undefined;

  constructor(private readonly start: () => Slices<T>) {}

  /** The result, or an interruption of the evaluation that needs it. */
  result(): T {
    if (this.#ended !== undefined) return this.#ended.value;
    const slices = (this.#slices ??= this.start());
    let slice: IteratorResult<void, T>;
    try {
      slice = slices.next();
    } catch (error) {
      this.#slices = undefined;
      throw error;
    }
    if (slice.done !== true) throw interruption;
    this.#ended = { value: slice.value };
    return slice.value;
  }
}
