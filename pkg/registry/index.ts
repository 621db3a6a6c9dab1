/** registry: the verbs for any kind. */
export type * from "./contract.ts";
