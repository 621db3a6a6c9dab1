/** quota: what objects count for in quotas, and which of them a quota counts. */
export { amountOf, type Amounts, masked, minus, plus, podTotal } from "./amounts.ts";
export { type Meter, meterOf } from "./meters.ts";
export { inScopes } from "./scopes.ts";
