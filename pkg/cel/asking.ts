/** Evaluation with an authorizer that takes its time. */
import type {
  AccessDecision,
  AccessOracle,
  AccessQuestion,
} from "./library/kubernetes/authorization.ts";
import type { Outcome, Program } from "./program.ts";

/** The evaluation came to a question without an answer yet. */
class Unanswered extends Error {
  override readonly name = "Unanswered";
  constructor(readonly question: AccessQuestion) {
    super("unanswered");
  }
}

/**
 * What one request has asked of the authorizer so far. Expressions that share it share the answers,
 * and values made from its oracle may pass from one to the other.
 */
export class Inquiry {
  readonly #answers = new Map<string, AccessDecision>();

  constructor(private readonly decide: (question: AccessQuestion) => Promise<AccessDecision>) {}

  /**
   * The access oracle for the variables: throws Unanswered for a question without an answer yet.
   */
  readonly oracle: AccessOracle = (question) => {
    const answer = this.#answers.get(JSON.stringify(question));
    if (answer === undefined) throw new Unanswered(question);
    return answer;
  };

  /**
   * Evaluates, and again with each answer that was missing. Every question costs 350,000 units, so
   * the budget bounds their number. The bindings must not change in between.
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
        if (!(error instanceof Unanswered)) throw error;
        const { question } = error;
        this.#answers.set(JSON.stringify(question), await this.decide(question));
      }
    }
  }
}
