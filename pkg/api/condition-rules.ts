import type { Infer, Path, Problems } from "#schema";
import { type condition, isQualifiedName } from "#meta";
import { invalidEach, duplicateIndexes } from "./strategy.ts";

type Condition = Infer<typeof condition>;

const maxReasonLength = 1024;
const maxMessageLength = 32 * 1024;
const statuses = ["True", "False", "Unknown"];
const reasonForm = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reasonDetail =
  "a condition reason must start with alphabetic character, optionally followed by a string of " +
  "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. " +
  `'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', ` +
  `regex used for validation is '${reasonForm}')`;

/** Validates a list of metav1.Condition; each type must be unique. */
export function checkConditions(
  conditions: readonly Condition[] | undefined,
  path: Path,
  problems: Problems,
): void {
  const all = conditions ?? [];
  const repeated = duplicateIndexes(all, ({ type }) => type);
  for (const [index, each] of all.entries()) {
    const itemPath = path.index(index);
    if (repeated.has(index)) problems.duplicate(itemPath.child("type"), each.type);
    checkCondition(each, itemPath, problems);
  }
}

function checkCondition(each: Condition, path: Path, problems: Problems): void {
  const { type, status, observedGeneration, lastTransitionTime, reason, message } = each;
  invalidEach(problems, path.child("type"), { value: type, messages: isQualifiedName(type) });
  if (!statuses.includes(status)) problems.notSupported(path.child("status"), status, statuses);
  if (observedGeneration !== undefined && observedGeneration < 0) {
    const observedGenerationPath = path.child("observedGeneration");
    problems.invalid(
      observedGenerationPath,
      observedGeneration,
      "must be greater than or equal to zero",
    );
  }
  if (!lastTransitionTime) problems.required(path.child("lastTransitionTime"));
  const reasonPath = path.child("reason");
  if (reason === "") problems.required(reasonPath);
  else {
    if (!new RegExp(`^${reasonForm}$`).test(reason))
      problems.invalid(reasonPath, reason, reasonDetail);
    if (reason.length > maxReasonLength) problems.tooLong(reasonPath, reason, maxReasonLength);
  }
  if (message.length > maxMessageLength) {
    problems.tooLong(path.child("message"), message, maxMessageLength);
  }
}
