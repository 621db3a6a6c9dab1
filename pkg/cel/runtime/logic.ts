/** Logical operators: either operand may decide the result, even if the other one fails. */
import { asFault, type Evaluator } from "./frame.ts";
import { CelFault, noSuchOverload, type Value } from "../value/values.ts";

/** `&&` if `decisive` is false, `||` if it is true. */
export function logicalStep(left: Evaluator, right: Evaluator, decisive: boolean): Evaluator {
  return (frame) => {
    let held: CelFault | undefined;
    try {
      const value = left(frame);
      if (value === decisive) return decisive;
      if (typeof value !== "boolean") held = noSuchOverload();
    } catch (error) {
      held = asFault(error);
    }
    let other: Value;
    try {
      other = right(frame);
    } catch (error) {
      const fault = asFault(error);
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

/** Loop condition of `all` and `exists`: true unless the operand is false; true for a fault. */
export function notStrictlyFalseStep(operand: Evaluator): Evaluator {
  return (frame) => {
    frame.spend(1);
    try {
      return operand(frame) !== false;
    } catch (error) {
      return asFault(error) instanceof CelFault;
    }
  };
}
