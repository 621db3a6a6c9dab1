import { isJsonObject } from "#base";
import { JsonPath } from "#structural";
import type { KubernetesObject } from "./fixtures.ts";

/**
 * Condition to wait for, as in `kubectl wait --for`: `condition=Ready`, `condition=Ready=False`,
 * `jsonpath={.status.phase}=Running`, `jsonpath={.status.podIP}` (any value), `create`, `delete`;
 * or a function of the object, which is called only while the object exists.
 */
export type WaitCondition = string | ((object: KubernetesObject) => boolean);

/** Whether the condition holds for an object; undefined = it does not exist. */
export type Holds = (object: KubernetesObject | undefined) => boolean;

/** @throws TypeError for an invalid condition */
export function parseCondition(condition: WaitCondition): Holds {
  if (typeof condition === "function") {
    return (object) => object !== undefined && condition(object);
  }
  if (condition === "delete") return (object) => object === undefined;
  if (condition === "create") return (object) => object !== undefined;
  const [, tag, rest = ""] = /^(condition|jsonpath)=(.+)$/s.exec(condition) ?? [];
  if (tag === "condition") return statusCondition(rest);
  if (tag === "jsonpath") return valueAtPath(rest, condition);
  throw new TypeError(
    `unrecognized condition ${JSON.stringify(condition)}: use condition=TYPE[=STATUS], ` +
      "jsonpath={PATH}[=VALUE], create or delete",
  );
}

/**
 * Compares types and statuses of conditions case-insensitively, as kubectl does; outdated
 * conditions do not match.
 */
function statusCondition(text: string): Holds {
  const [type = "", status = "true"] = text.toLowerCase().split("=");
  return (object) => {
    const conditions: unknown = object?.["status"]?.conditions;
    if (!Array.isArray(conditions)) return false;
    const found = conditions.find((one) => String(one?.type).toLowerCase() === type);
    if (found === undefined) return false;
    const observed = found.observedGeneration ?? object?.["status"]?.observedGeneration;
    const { generation } = object!.metadata;
    const isOutdated = observed !== undefined && Number(observed) < Number(generation ?? 0);
    return !isOutdated && String(found.status).toLowerCase() === status;
  };
}

function valueAtPath(text: string, condition: string): Holds {
  const [, braced, wanted] = /^'?\{(.*)\}'?(?:=(.*))?$/s.exec(text) ?? [];
  const path = braced === undefined ? undefined : JsonPath.parse(braced);
  if (path === undefined) {
    throw new TypeError(`invalid JSONPath in ${JSON.stringify(condition)}`);
  }
  return (object) => {
    const [value] = object === undefined ? [] : path.find(object);
    if (wanted === undefined) return value !== undefined;
    return value !== undefined && !isJsonObject(value) && String(value) === wanted;
  };
}
