/** Evaluation of expressions with an asynchronous authorizer. */
import type {
  AccessDecision,
  AccessDecider,
  AccessCheck,
} from "./library/kubernetes/authorization.ts";
import type { Outcome, Program } from "./program.ts";

/** The evaluation needs a decision that has not been made. */
class MissingDecision extends Error {
  override readonly name = "Unanswered";
  constructor(readonly question: AccessCheck) {
    super("unanswered");
  }
}

/**
 * Evaluates the expressions of one request and caches the authorizer's decisions, which these share.
 * Values created from its `authorizer` may be passed between the expressions.
 */
export class AccessEvaluator {
  readonly #decisions = new Map<string, AccessDecision>();

  constructor(private readonly decide: (question: AccessCheck) => Promise<AccessDecision>) {}

  /** Decider for the variable `authorizer`: throws MissingDecision for a decision not yet made. */
  readonly authorizer: AccessDecider = (question) => {
    const answer = this.#decisions.get(JSON.stringify(question));
    if (answer === undefined) throw new MissingDecision(question);
    return answer;
  };

  /**
   * Evaluates, and restarts after each missing decision. Every check costs 350,000 units, so that the
   * budget limits their number. The bindings must not change in between.
   */
  async evaluate(
    program: Program,
    bindings: Readonly<Record<string, unknown>>,
    budget: number,
  ): Promise<Outcome> {
    for (;;) {
      try {
        return program.evaluate(bindings, budget);
      } catch (error) {
        if (!(error instanceof MissingDecision)) throw error;
        const { question } = error;
        this.#decisions.set(JSON.stringify(question), await this.decide(question));
      }
    }
  }
}
