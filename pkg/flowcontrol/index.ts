/** flowcontrol: API Priority and Fairness: which requests execute, which wait, which are rejected. */
export type * from "./contract.ts";
