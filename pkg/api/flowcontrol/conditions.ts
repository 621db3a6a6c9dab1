/** Conditions of schemas and priority levels. */
import { list, named, type Path, value, type Problems, string, type structs } from "#schema";
import { time } from "#meta";

/** Declares the conditions of a status, whose struct is called `name`. */
export function conditionsOf(declare: ReturnType<typeof structs>, name: string) {
  const condition = declare(name, "Something that is known.", {
    type: value(1, string, "What it is about."),
    status: value(
      2,
      named("v1.ConditionStatus", "True", "False", "Unknown"),
      "Whether it holds: True, False or Unknown.",
    ),
    lastTransitionTime: value(3, time, "When it last changed."),
    reason: value(4, string, "Why it last changed, as one word."),
    message: value(5, string, "Why it last changed, for people."),
  });
  return value(1, list(condition), "What is known.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  });
}

interface Condition {
  readonly type?: string;
}

/** Each condition has a type, which none before it has. */
export function checkConditions(
  conditions: readonly Condition[] | undefined,
  path: Path,
  problems: Problems,
): void {
  const seen = new Set<string>();
  for (const [index, { type = "" }] of (conditions ?? []).entries()) {
    const place = path.index(index).child("type");
    if (seen.has(type)) problems.duplicate(place, type);
    seen.add(type);
    if (type === "") problems.required(place);
  }
}
