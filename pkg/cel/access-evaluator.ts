/** Evaluation of expressions with an asynchronous authorizer. */
import { promptly, yieldEvery } from "#base";
import type {
  AccessDecision,
  AccessDecider,
  AccessCheck,
} from "./library/kubernetes/authorization.ts";
import type { Outcome, Program } from "./program.ts";

/** The evaluation needs a decision that has not been made. */
class MissingDecision extends Error {
  override readonly name = "MissingDecision";
  constructor(readonly check: AccessCheck) {
    super("access decision not made yet");
  }
}

/**
 * Evaluates the expressions of one request and caches the authorizer's decisions, which these share.
 * Values created from its `authorizer` may be passed between the expressions.
 */
export class AccessEvaluator {
  readonly #decisions = new Map<string, AccessDecision>();

  constructor(
    private readonly decide: (check: AccessCheck) => Promise<AccessDecision>,
    /** Yields to the event loop; shared with other work of the request. */
    private readonly pause = yieldEvery(),
  ) {}

  /** Decider for the variable `authorizer`: throws MissingDecision for a decision not yet made. */
  readonly authorizer: AccessDecider = (check) => {
    const decision = this.#decisions.get(JSON.stringify(check));
    if (decision === undefined) throw new MissingDecision(check);
    return decision;
  };

  /**
   * Evaluates, yielding to the event loop, and restarts after each missing decision. Every check costs
   * 350,000 units, so that the budget limits their number. The bindings must not change in between.
   */
  async evaluate(
    program: Program,
    bindings: Readonly<Record<string, unknown>>,
    budget: number,
  ): Promise<Outcome> {
    const turn = this.pause();
    if (turn !== undefined) await turn;
    for (;;) {
      try {
        return await promptly(program.evaluateInSlices(bindings, budget), this.pause);
      } catch (error) {
        if (!(error instanceof MissingDecision)) throw error;
        const { check } = error;
        this.#decisions.set(JSON.stringify(check), await this.decide(check));
      }
    }
  }
}
