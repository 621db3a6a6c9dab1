/** Conditions of FlowSchemas and PriorityLevelConfigurations. */
import {
  list,
  named,
  type Path,
  value,
  type Problems,
  string,
  type structs,
  mergedBy,
} from "#schema";
import { time } from "#meta";

/** Declares the conditions of a status, whose struct is called `name`. */
export function conditionsOf(declare: ReturnType<typeof structs>, name: string) {
  const condition = declare(
    name,
    "One observed condition of a FlowSchema or PriorityLevelConfiguration.",
    {
      type: value(
        1,
        named(`v1.${name}Type`),
        "Name of the condition, for example Dangling (the FlowSchema refers to a " +
          "PriorityLevelConfiguration that does not exist).",
      ),
      status: value(
        2,
        named("v1.ConditionStatus", "True", "False", "Unknown"),
        "Status of the condition: one of True, False, Unknown.",
        { openApi: { enum: false } },
      ),
      lastTransitionTime: value(3, time, "Time at which `status` last changed to another value."),
      reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
      message: value(5, string, "Human-readable message with details about the last transition."),
    },
  );
  return value(
    1,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  );
}

interface Condition {
  readonly type?: string;
}

/** Requires unique condition types. */
export function checkConditions(
  conditions: readonly Condition[] | undefined,
  path: Path,
  problems: Problems,
): void {
  const seen = new Set<string>();
  for (const [index, { type = "" }] of (conditions ?? []).entries()) {
    const typePath = path.index(index).child("type");
    if (seen.has(type)) problems.duplicate(typePath, type);
    seen.add(type);
    if (type === "") problems.required(typePath);
  }
}
