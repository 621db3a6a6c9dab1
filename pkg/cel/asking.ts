/** Evaluation with an authorizer that takes its time. */
import type { AccessDecision, AccessOracle, AccessQuestion } from "./library/authorization.ts";
import type { Outcome, Program } from "./program.ts";

/** The evaluation came to a question without an answer yet. */
class Unanswered extends Error {
  override readonly name = "Unanswered";
  constructor(readonly question: AccessQuestion) {
    super("unanswered");
  }
}

interface Asking {
  /** The variables, with `authorizer` made from the oracle. */
  readonly bindings: (oracle: AccessOracle) => Readonly<Record<string, unknown>>;
  readonly budget: number;
  readonly decide: (question: AccessQuestion) => Promise<AccessDecision>;
}

/**
 * Evaluates, and again with each answer that was missing. Every question costs 350,000 units, so
 * the budget bounds their number. The bindings must not change in between.
 */
export async function evaluateAsking(program: Program, asking: Asking): Promise<Outcome> {
  const answers = new Map<string, AccessDecision>();
  const oracle: AccessOracle = (question) => {
    const answer = answers.get(JSON.stringify(question));
    if (answer === undefined) throw new Unanswered(question);
    return answer;
  };
  const bindings = asking.bindings(oracle);
  for (;;) {
    try {
      return program.evaluate(bindings, asking.budget);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      const { question } = error;
      answers.set(JSON.stringify(question), await asking.decide(question));
    }
  }
}
