import type { JsonObject, Slices } from "#base";
import { Path, Problems } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { checkEmbedded } from "./embedded.ts";
import { checkListTypes } from "./list-types.ts";
import { checkRules } from "../rules/rules.ts";
import { checkValue } from "./check-value.ts";

export interface CheckResult {
  /** Problems in Kubernetes' order. */
  readonly problems: Problems;
  /** Failures of CEL rules on unchanged values, which do not reject the update. */
  readonly warnings: readonly string[];
}

/**
 * Validates a resource by its schema, except for its metadata, in slices. Both objects have apiVersion,
 * kind and metadata. Validation ratcheting: errors of values that did not change since `old` are ignored.
 */
export function* checkObject(
  object: JsonObject,
  schema: CompiledSchema,
  options: {
    readonly old?: JsonObject | undefined;
    /** Validates only the status, for writes of the status subresource. */
    readonly onlyStatus?: boolean;
    /** Adds further errors of values. */
    readonly alsoValues?: (problems: Problems) => void;
  } = {},
): Slices<CheckResult> {
  const { old, onlyStatus = false, alsoValues } = options;
  const problems = new Problems();
  const warnings: string[] = [];
  if (onlyStatus) checkStatus(object, schema, { old, problems });
  else checkValue(object, schema, { problems, old });
  yield;
  alsoValues?.(problems);
  if (!onlyStatus) checkEmbedded(object, schema, Path.root, problems);
  yield;
  yield* checkUniqueness(object, schema, { old, problems });
  yield;
  if (!schema.hasRules) return { problems, warnings };
  if (problems.list.some(({ type }) => blocking.has(type))) {
    problems.invalid(Path.root, null, rulesSkipped);
  } else {
    yield* checkRules(object, schema, { old, problems, warnings, path: Path.root, isRoot: true });
  }
  return { problems, warnings };
}

interface Ratcheting {
  readonly old: JsonObject | undefined;
  readonly problems: Problems;
}

function checkStatus(
  object: JsonObject,
  schema: CompiledSchema,
  { old, problems }: Ratcheting,
): void {
  const status = schema.property("status");
  if (status === undefined || !Object.hasOwn(object, "status")) return;
  checkValue(object["status"], status, { prefix: "status", old: old?.["status"], problems });
}

/** Checks lists of type set and map for duplicates, unless the stored object already has any. */
function* checkUniqueness(
  object: JsonObject,
  schema: CompiledSchema,
  { old, problems }: Ratcheting,
): Slices<void> {
  const found = new Problems();
  yield* checkListTypes(object, schema, Path.root, found);
  if (found.empty) return;
  if (old !== undefined) {
    const oldProblems = new Problems();
    yield* checkListTypes(old, schema, Path.root, oldProblems);
    if (!oldProblems.empty) return;
  }
  for (const problem of found.list) problems.add(problem);
}

const rulesSkipped =
  "some validation rules were not checked because the object was invalid; " +
  "correct the existing errors to complete validation";

/** Errors after which CEL rules are not evaluated, as they could fail or be expensive. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
