/** Match conditions (CEL) of authorization webhooks. */
import {
  bool,
  type CelType,
  compile,
  costLimits,
  Environment,
  listOf,
  mapOf,
  objectOf,
  type Program,
  string,
} from "#cel";

/** The spec of a SubjectAccessReview as JSON. */
export type ReviewSpec = Readonly<Record<string, unknown>>;

/** Compiles a condition; `fault` is the compile error with Kubernetes' message. */
export type CompileCondition = (
  expression: string,
) => { readonly program: Program } | { readonly program?: undefined; readonly fault: string };

/** Declares a type with unescaped field names: `namespace` is not escaped here. */
function fields(name: string, types: Readonly<Record<string, CelType>>): CelType {
  const known = new Map(Object.entries(types).map(([key, type]) => [key, { key, type }]));
  return objectOf({ name, field: (key) => known.get(key) });
}

function strings(...names: readonly string[]): Readonly<Record<string, CelType>> {
  return Object.fromEntries(names.map((name) => [name, string]));
}

const requirement = fields("kubernetes.SelectorRequirement", {
  ...strings("key", "operator"),
  values: listOf(string),
});
const selector = fields("kubernetes.SelectorAttributes", {
  rawSelector: string,
  requirements: listOf(requirement),
});
const requestType = fields("kubernetes.SubjectAccessReviewSpec", {
  resourceAttributes: fields("kubernetes.ResourceAttributes", {
    ...strings("namespace", "verb", "group", "version", "resource", "subresource", "name"),
    fieldSelector: selector,
    labelSelector: selector,
  }),
  nonResourceAttributes: fields("kubernetes.NonResourceAttributes", strings("path", "verb")),
  ...strings("user", "uid"),
  groups: listOf(string),
  extra: mapOf(string, listOf(string)),
});

/** Creates a compiler of conditions on `request`, the spec of a SubjectAccessReview. */
export function conditionCompiler(): CompileCondition {
  const environment = Environment.kubernetes({ variables: { request: requestType } });
  return (expression) => {
    const { program, reason } = compile(expression, environment);
    if (program === undefined) return { fault: reason };
    if (program.type.kind === bool.kind || program.type.kind === "dyn") return { program };
    return { fault: "must evaluate to bool" };
  };
}

/**
 * Whether a request meets all conditions. A false one takes precedence over errors of others; otherwise
 * returns the errors.
 */
export function meetsConditions(
  conditions: readonly Program[],
  request: ReviewSpec,
): boolean | { readonly error: string } {
  const errors: string[] = [];
  for (const condition of conditions) {
    const { value, error } = condition.evaluate({ request }, costLimits.call);
    if (value === false) return false;
    if (error !== undefined) errors.push(`cel evaluation error: ${error}`);
    else if (value !== true) errors.push("cel evaluation error: result is no bool");
  }
  if (errors.length === 0) return true;
  return { error: errors.length > 1 ? `[${errors.join(", ")}]` : errors.join() };
}
