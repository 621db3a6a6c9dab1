/** quota: usage of objects as ResourceQuotas count it, and the scopes of quotas. */
export { amountOf, type Amounts, increase, pick, plus } from "./amounts.ts";
export { type Evaluator, evaluatorFor } from "./evaluators.ts";
export { allocatedPodTotal, podTotal } from "./pod-resources.ts";
export {
  attributesClassesOf,
  inScope,
  inScopes,
  isTerminating,
  type ScopeSelector,
  scopesOf,
} from "./scopes.ts";
