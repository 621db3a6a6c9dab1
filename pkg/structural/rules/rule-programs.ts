import { memoize } from "#base";
import {
  bool,
  type CelType,
  compile,
  Environment,
  optionalOf,
  type Program,
  sameType,
  string,
  type StructuralSchema,
  structuralType,
} from "#cel";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { followFieldPath } from "../schema/field-path.ts";
import type { ValidationRule } from "../schema/json-schema.ts";

/** A compiled rule. */
export interface RuleProgram {
  readonly source: ValidationRule;
  /** Absent for a rule that is empty or does not compile. */
  readonly program?: Program;
  readonly fault?: string;
  /** Whether it refers to `oldSelf` (transition rule). */
  readonly usesOld: boolean;
  readonly message?: Program;
  readonly messageFault?: string;
  /** Field of the error, relative to the value; "" for the value itself. */
  readonly fieldPath: string;
}

/** Compiled rules of one schema. */
export interface RulePrograms {
  /** CEL type of `self`; undefined if the schema has none, so that no rule compiles. */
  readonly type: CelType | undefined;
  readonly rules: readonly RuleProgram[];
}

const base = Environment.kubernetes({ variables: {} });

const ofRoot = memoize((schema: CompiledSchema) => compileRules(schema, true));
const ofSubschema = memoize((schema: CompiledSchema) => compileRules(schema, false));

/** The compiled rules of a schema, without those of subschemas. */
export function rulePrograms(schema: CompiledSchema, isRoot: boolean): RulePrograms {
  return isRoot ? ofRoot(schema) : ofSubschema(schema);
}

function compileRules(schema: CompiledSchema, isRoot: boolean): RulePrograms {
  const type = structuralType(schema.source as StructuralSchema, isRoot);
  if (type === undefined) return { type, rules: [] };
  const plain = base.extend({ variables: { self: type, oldSelf: type } });
  const optional = base.extend({ variables: { self: type, oldSelf: optionalOf(type) } });
  return {
    type,
    rules: schema.rules.map((source) =>
      compileRule(source, schema, source.optionalOldSelf === true ? optional : plain),
    ),
  };
}

function compileRule(
  source: ValidationRule,
  schema: CompiledSchema,
  environment: Environment,
): RuleProgram {
  const withoutProgram = { source, usesOld: false, fieldPath: "" };
  if (source.rule.trim() === "") return withoutProgram;
  const { program, reason } = compile(source.rule, environment);
  if (program === undefined) return { ...withoutProgram, fault: reason };
  if (!sameType(program.type, bool)) {
    return { ...withoutProgram, fault: "cel expression must evaluate to a bool" };
  }
  return {
    source,
    program,
    usesOld: program.variables.includes("oldSelf"),
    ...compileMessage(source.messageExpression ?? "", environment),
    fieldPath: normalizedFieldPath(source.fieldPath ?? "", schema),
  };
}

function compileMessage(
  expression: string,
  environment: Environment,
): Pick<RuleProgram, "message" | "messageFault"> {
  if (expression === "") return {};
  const { program, error, isInstantiation } = compile(expression, environment);
  if (program === undefined) {
    const stage = isInstantiation ? "instantiation" : "compilation";
    return { messageFault: `messageExpression ${stage} failed: ${error}` };
  }
  if (sameType(program.type, string)) return { message: program };
  return { messageFault: "messageExpression must evaluate to a string" };
}

/** Form of a fieldPath in field errors; "" if it is invalid. */
function normalizedFieldPath(path: string, schema: CompiledSchema): string {
  if (path === "") return "";
  const found = followFieldPath(path, schema, { brackets: true });
  return typeof found === "string" ? "" : found.text;
}
