/** quota: what objects count for in quotas, and which of them a quota counts. */
export { amountOf, type Amounts, masked, minus, plus, podTotal } from "./amounts.ts";
export { type Evaluator, evaluatorFor } from "./evaluators.ts";
export { inScopes } from "./scopes.ts";
