import { int64, named, pointer, value, string, structs } from "#schema";
import { type Infer, type Path, type Problems } from "#schema";
import { isLabelValue, isQualifiedName } from "#meta";
import { invalidEach, unsupported } from "../../../strategy.ts";

const v1 = structs("api/core/v1");

export const toleration = v1(
  "Toleration",
  "Tolerates the taints of nodes that match key, value and effect.",
  {
    key: value(
      1,
      string,
      "Taint key to match. Empty matches all keys; the operator must then be Exists.",
    ),
    operator: value(
      2,
      named("v1.TolerationOperator", "Exists", "Equal"),
      "Relationship of the key to the value: one of Exists (any value), Equal. Behaves as " +
        "Equal when absent.",
    ),
    value: value(3, string, "Taint value to match. Must be empty for operator Exists."),
    effect: value(
      4,
      named("v1.TaintEffect", "NoSchedule", "PreferNoSchedule", "NoExecute"),
      "Taint effect to match: one of NoSchedule, PreferNoSchedule, NoExecute. Empty matches " +
        "all effects.",
    ),
    tolerationSeconds: pointer(
      5,
      int64,
      "Seconds for which the pod tolerates a taint before it is evicted. Requires effect " +
        "NoExecute. Forever if absent; 0 and negative values evict it immediately.",
    ),
  },
);

export type Toleration = Infer<typeof toleration>;

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function checkToleration(
  { key, operator, value = "", effect, tolerationSeconds }: Toleration,
  path: Path,
  problems: Problems,
): void {
  const operatorPath = path.child("operator");
  if (key) invalidEach(problems, path.child("key"), { value: key, messages: isQualifiedName(key) });
  else if (operator !== "Exists") {
    const meaning = 'which means "match all values and all keys"';
    const detail = `operator must be Exists when \`key\` is empty, ${meaning}`;
    problems.invalid(operatorPath, operator ?? "", detail);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
    problems.invalid(path.child("effect"), effect ?? "", detail);
  }
  if (operator === undefined || operator === "" || operator === "Equal") {
    const messages = isLabelValue(value);
    if (messages.length > 0) problems.invalid(operatorPath, value, messages.join(";"));
  } else if (operator !== "Exists") {
    unsupported(problems, operatorPath, { value: operator, supported: ["Equal", "Exists"] });
  } else if (value !== "") {
    problems.invalid(operatorPath, value, "value must be empty when `operator` is 'Exists'");
  }
  if (effect && !effects.includes(effect)) {
    unsupported(problems, path.child("effect"), { value: effect, supported: effects });
  }
}
