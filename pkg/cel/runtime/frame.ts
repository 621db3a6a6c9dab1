import { CelFault, type Value } from "../value/values.ts";
import type { Progress } from "./progress.ts";

/** The evaluation exceeded its cost budget. Logical operators do not absorb it. */
export class BudgetExceeded extends Error {
  override readonly name = "BudgetExceeded";
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** State of one evaluation: variables in slots, and the cost so far. */
export class Frame {
  spent = 0;

  constructor(
    /** A fault in a slot is thrown when the slot is read. */
    readonly slots: (Value | CelFault | undefined)[],
    private readonly limit: number,
    /** Present in an evaluation in slices. */
    readonly progress?: Progress,
  ) {}

  /** Counts cost units; throws BudgetExceeded beyond the limit. */
  spend(cost: number): void {
    this.spent += cost;
    if (this.spent > this.limit) throw new BudgetExceeded();
  }
}

export type Evaluator = (frame: Frame) => Value;

/** Returns a CelFault, for operators that may not depend on the failed operand; rethrows other errors. */
export function asFault(error: unknown): CelFault {
  if (error instanceof CelFault) return error;
  throw error;
}
