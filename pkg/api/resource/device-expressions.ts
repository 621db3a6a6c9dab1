/** Validation of the CEL device selectors of claims and classes. */
import {
  bool,
  bounded,
  type CelType,
  compile,
  dyn,
  Environment,
  mapOf,
  objectOf,
  opaque,
  string,
  typeText,
} from "#cel";

/** CEL cost limit of a selector, both estimated from the sizes below and at runtime. */
export const MAX_SELECTOR_COST = 1_000_000;

const MAX_DOMAIN_LENGTH = 63;
const MAX_ID_LENGTH = 32;
const MAX_VALUE_LENGTH = 64;
const MAX_ATTRIBUTES = 32;

const quantity = opaque("kubernetes.Quantity");

/** Map by domain, then by name. */
function byName(value: CelType): CelType {
  const inner = bounded(mapOf(bounded(string, MAX_ID_LENGTH), value), MAX_ATTRIBUTES);
  return bounded(mapOf(bounded(string, MAX_DOMAIN_LENGTH), inner), MAX_ATTRIBUTES);
}

const fields: ReadonlyMap<string, CelType> = new Map([
  ["driver", bounded(string, MAX_DOMAIN_LENGTH)],
  ["attributes", byName(bounded(dyn, MAX_VALUE_LENGTH))],
  ["capacity", byName(quantity)],
]);

/** Environment of selectors, with the variable `device` only. */
export const deviceEnvironment = Environment.kubernetes({
  bindings: true,
  variables: {
    device: objectOf({
      name: "kubernetes.DRADevice",
      field(key) {
        const type = fields.get(key);
        return type === undefined ? undefined : { key, type };
      },
    }),
  },
});

type SelectorFault =
  | { readonly kind: "invalid"; readonly detail: string }
  | { readonly kind: "forbidden"; readonly detail: string };

/** Compilation error of a selector; undefined if it is valid. */
export function selectorFault(expression: string): SelectorFault | undefined {
  const { program, reason } = compile(expression, deviceEnvironment);
  if (program === undefined) {
    return { kind: "invalid", detail: reason };
  }
  const { type } = program;
  if (type.kind !== "bool" && type.kind !== "dyn") {
    const detail = `must evaluate to ${typeText(bool)} or the unknown type, not ${typeText(type)}`;
    return { kind: "invalid", detail };
  }
  if (program.estimatedCost.max <= MAX_SELECTOR_COST) return undefined;
  return { kind: "forbidden", detail: "too complex, exceeds cost limit" };
}
