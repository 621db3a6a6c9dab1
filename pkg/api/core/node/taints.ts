import type { Path, Problems } from "#schema";
import { isLabelValue, isQualifiedName } from "#meta";
import { goShape } from "../../go/go-shape.ts";
import { invalidEach, duplicateIndexes, unsupported } from "../../strategy.ts";
import { type Taint, taint } from "./node-types.ts";

/** In the order in which messages list them. */
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Validates taints: keys, values, effects, and uniqueness of key and effect. */
export function checkTaints(taints: readonly Taint[], path: Path, problems: Problems): void {
  const repeated = duplicateIndexes(taints, ({ key, effect }) => JSON.stringify([key, effect]));
  for (const [index, each] of taints.entries()) {
    const itemPath = path.index(index);
    checkTaint(each, itemPath, problems);
    if (!repeated.has(index)) continue;
    problems.add({
      type: "FieldValueDuplicate",
      field: itemPath.toString(),
      value: goShape(taint, each),
      detail: "taints must be unique by key and effect pair",
    });
  }
}

function checkTaint({ key, value = "", effect }: Taint, path: Path, problems: Problems): void {
  invalidEach(problems, path.child("key"), { value: key, messages: isQualifiedName(key) });
  const messages = isLabelValue(value);
  if (messages.length > 0) problems.invalid(path.child("value"), value, messages.join(";"));
  if (effect === "") problems.required(path.child("effect"));
  else if (!effects.includes(effect)) {
    unsupported(problems, path.child("effect"), { value: effect, supported: effects });
  }
}
