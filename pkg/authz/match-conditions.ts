/** Conditions in CEL under which a webhook is asked at all. */
import { builtinKinds } from "#api";
import { assert } from "#base";
import { bool, compile, costLimits, Environment, type Program, structType } from "#cel";
import { type StructType } from "#schema";

/** The spec of a SubjectAccessReview as JSON. */
export type ReviewSpec = Readonly<Record<string, unknown>>;

/** Compiles a condition; `fault` is what is wrong with it, in the words of Kubernetes. */
export type CompileCondition = (
  expression: string,
) => { readonly program: Program } | { readonly program?: undefined; readonly fault: string };

/** Makes a compiler of conditions about `request`, the spec of a SubjectAccessReview. */
export function conditionCompiler(): CompileCondition {
  const review = builtinKinds.find(({ kind }) => kind === "SubjectAccessReview");
  const spec = review?.versions[0]?.struct.fields["spec"]?.type;
  assert(spec?.tag === "struct", "reviews have specs");
  const request = structType(spec as StructType<any>);
  const environment = Environment.kubernetes({ variables: { request } });
  return (expression) => {
    const { program, error } = compile(expression, environment);
    if (program === undefined) return { fault: `compilation failed: ${error}` };
    if (program.type.kind === bool.kind || program.type.kind === "dyn") return { program };
    return { fault: "must evaluate to bool" };
  };
}

/**
 * Whether a request meets every condition. One that is false decides, whatever else fails;
 * otherwise the failures are answered.
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
