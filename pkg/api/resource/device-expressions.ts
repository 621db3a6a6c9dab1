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
export const maxSelectorCost = 1_000_000;

const maxDomainLength = 63;
const maxIdLength = 32;
const maxValueLength = 64;
const maxAttributes = 32;

const quantity = opaque("kubernetes.Quantity");

/** Map by domain, then by name. */
function byName(value: CelType): CelType {
  const inner = bounded(mapOf(bounded(string, maxIdLength), value), maxAttributes);
  return bounded(mapOf(bounded(string, maxDomainLength), inner), maxAttributes);
}

const fields: ReadonlyMap<string, CelType> = new Map([
  ["driver", bounded(string, maxDomainLength)],
  ["attributes", byName(bounded(dyn, maxValueLength))],
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
  if (program.estimatedCost.max <= maxSelectorCost) return undefined;
  return { kind: "forbidden", detail: "too complex, exceeds cost limit" };
}
