import { CelFault, type Value } from "../value/values.ts";

/** The evaluation used up its budget. Nothing absorbs it. */
export class BudgetExceeded extends Error {
  override readonly name = "BudgetExceeded";
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

/** What one evaluation knows: variables in their slots, and what it has spent. */
export class Frame {
  spent = 0;

  constructor(
    /** A fault in a slot is thrown when it is read. */
    readonly slots: (Value | CelFault | undefined)[],
    private readonly limit: number,
  ) {}

  /** Counts cost units; throws BudgetExceeded beyond the limit. */
  spend(cost: number): void {
    this.spent += cost;
    if (this.spent > this.limit) throw new BudgetExceeded();
  }
}

export type Evaluator = (frame: Frame) => Value;

/** Faults become values where an operator may still decide without them; the rest goes on up. */
export function absorbed(error: unknown): CelFault {
  if (error instanceof CelFault) return error;
  throw error;
}
