/** Folds: what macros such as `all` and `map` expand to. */
import { CelFault, ListValue, MapValue, noSuchOverload, type Value } from "../value/values.ts";
import { asFault, type Evaluator, type Frame } from "./frame.ts";
import type { FoldState } from "./progress.ts";

/** Compiled parts of a comprehension; see `ComprehensionNode`. */
export interface Fold {
  readonly range: Evaluator;
  readonly initial: Evaluator;
  readonly condition: Evaluator;
  readonly step: Evaluator;
  readonly result: Evaluator;
  /** Whether a later element can decide the result after an element failed. */
  readonly absorbs: boolean;
  readonly slots: {
    readonly accumulator: number;
    readonly variable: number;
    readonly second: number | undefined;
  };
}

/** Folds one element; returns false if the fold ends before it. */
type FoldElement = (frame: Frame, first: Value, other: Value | undefined) => boolean;

function elementFold({ condition, step, absorbs, slots }: Fold): FoldElement {
  const { accumulator, variable, second } = slots;
  const evaluateStep = absorbs ? capturingFault(step) : step;
  return (frame, first, other) => {
    frame.slots[variable] = first;
    if (second !== undefined) frame.slots[second] = other;
    if (condition(frame) !== true) return false;
    frame.slots[accumulator] = evaluateStep(frame);
    return true;
  };
}

/** Evaluates a fold at once. */
export function foldStep(fold: Fold): Evaluator {
  const { range, initial, result } = fold;
  const { accumulator, second } = fold.slots;
  const foldElement = elementFold(fold);
  return (frame) => {
    const over = range(frame);
    frame.slots[accumulator] = initial(frame);
    if (over instanceof ListValue) {
      for (let at = 0; at < over.length; at++) {
        const continues =
          second === undefined
            ? foldElement(frame, over.at(at), undefined)
            : foldElement(frame, at, over.at(at));
        if (!continues) break;
      }
    } else if (over instanceof MapValue) {
      for (const key of over.keys()) {
        if (!foldElement(frame, key, second === undefined ? undefined : over.find(key))) break;
      }
    } else {
      throw noSuchOverload();
    }
    return result(frame);
  };
}

/**
 * A fold that is not within another one. An evaluation in slices is interrupted between its elements
 * and continues there: such a fold is evaluated at most once per evaluation.
 */
export function interruptibleFold(fold: Fold): Evaluator {
  const evaluateAtOnce = foldStep(fold);
  const foldElement = elementFold(fold);
  return (frame) => {
    const { progress, spent: before } = frame;
    if (progress === undefined) return evaluateAtOnce(frame);
    let state = progress.stateOf(fold);
    if (state === undefined) {
      state = startFold(fold, frame);
      progress.add(fold, state);
    } else progress.replay(frame, state);
    if (state.value !== undefined) return state.value;
    const length = state.keys?.length ?? (state.over as ListValue).length;
    while (state.next < length && foldElement(frame, ...variablesOf(fold, state))) {
      state.next++;
      state.cost = frame.spent - before;
      progress.check(frame);
    }
    const value = fold.result(frame);
    state.cost = frame.spent - before;
    return (state.value = value);
  };
}

/** Evaluates the range and the initial value. */
function startFold({ range, initial, slots }: Fold, frame: Frame): FoldState {
  const before = frame.spent;
  const over = range(frame);
  frame.slots[slots.accumulator] = initial(frame);
  if (!(over instanceof ListValue || over instanceof MapValue)) throw noSuchOverload();
  const keys = over instanceof MapValue ? [...over.keys()] : undefined;
  return { over, keys, next: 0, cost: frame.spent - before, value: undefined };
}

/** Values of the variables for the next element. */
function variablesOf(
  { slots }: Fold,
  { over, keys, next }: FoldState,
): readonly [Value, Value | undefined] {
  const isPair = slots.second !== undefined;
  if (keys !== undefined) {
    const key = keys[next] as Value;
    return [key, isPair ? (over as MapValue).find(key) : undefined];
  }
  const element = (over as ListValue).at(next);
  return isPair ? [next, element] : [element, undefined];
}

/** Evaluates to the step's value or its CelFault, which is stored in the accumulator. */
function capturingFault(step: Evaluator): (frame: Frame) => Value | CelFault {
  return (frame) => {
    try {
      return step(frame);
    } catch (error) {
      return asFault(error);
    }
  };
}
