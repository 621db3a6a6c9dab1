import type { Path, Problems } from "#schema";
import type { CompiledSchema } from "./compiled-schema.ts";

export interface RuleContext {
  readonly old?: unknown;
  readonly path: Path;
  readonly problems: Problems;
  readonly warnings: string[];
  /** Of the whole resource: apiVersion, kind and the name are there for rules. */
  readonly isRoot: boolean;
}

/** Evaluates the rules of a schema, and of all below it that a value reaches. */
export function checkRules(value: unknown, schema: CompiledSchema, context: RuleContext): void {
  void [value, schema, context];
}
