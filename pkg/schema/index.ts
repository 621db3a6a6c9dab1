/** schema: the schema language and its folds, one per file. */
export type * from "./types.ts";
export * from "./declare.ts";
export { Path, Problems, type FieldProblem, type ProblemType } from "./problems.ts";
