import type { Target } from "./contract.ts";

/** One write as admission sees it. Objects are in hub form. */
export interface Attributes {
  readonly target: Target;
  readonly operation: "create" | "update" | "delete";
  readonly dryRun: boolean;
  /** What would be written; undefined for a deletion. Mutating steps may change it in place. */
  readonly object: any;
  /** What is there now, with its resourceVersion; undefined for a creation. Not to be changed. */
  readonly old: any;
}

/** A step of admission: throws a StatusError to refuse, answers warnings for the client. */
export type Admit = (attributes: Attributes) => Promise<readonly string[]>;
