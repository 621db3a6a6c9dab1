/** Logical operators: either side may decide alone, also when the other has no value. */
import { absorbed, type Evaluator } from "./frame.ts";
import { CelFault, noSuchOverload, type Value } from "../value/values.ts";

/** `&&` where `decisive` is false, `||` where it is true. */
export function logicalStep(left: Evaluator, right: Evaluator, decisive: boolean): Evaluator {
  return (frame) => {
    let held: CelFault | undefined;
    try {
      const value = left(frame);
      if (value === decisive) return decisive;
      if (typeof value !== "boolean") held = noSuchOverload();
    } catch (error) {
      held = absorbed(error);
    }
    let other: Value;
    try {
      other = right(frame);
    } catch (error) {
      const fault = absorbed(error);
      throw held ?? fault;
    }
    if (other === decisive) return decisive;
    if (held !== undefined) throw held;
    if (typeof other !== "boolean") throw noSuchOverload();
    return !decisive;
  };
}

/** `condition ? yes : no`. */
export function conditionalStep(condition: Evaluator, yes: Evaluator, no: Evaluator): Evaluator {
  return (frame) => {
    const value = condition(frame);
    if (value === true) return yes(frame);
    if (value === false) return no(frame);
    throw noSuchOverload();
  };
}

/** Whether a fold goes on: also while its accumulator has no value yet. */
export function notStrictlyFalseStep(operand: Evaluator): Evaluator {
  return (frame) => {
    frame.spend(1);
    try {
      return operand(frame) !== false;
    } catch (error) {
      return absorbed(error) instanceof CelFault;
    }
  };
}
