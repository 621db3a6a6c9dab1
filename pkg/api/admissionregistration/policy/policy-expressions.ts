/** Validation of CEL expressions in policies and webhooks. */
import type { Path, Problems } from "#schema";
import {
  authorizerType,
  bool,
  type CelType,
  compile,
  dyn,
  Environment,
  jsonPatchType,
  listOf,
  nullType,
  objectOf,
  type Program,
  resourceCheckType,
  sameType,
  string,
  typeText,
} from "#cel";
import { namespaceType, requestType, variablesType } from "./policy-types.ts";

/** What an expression may use besides `object`, `oldObject`, `request` and `namespaceObject`. */
export interface ExpressionScope {
  /** Type of `object` and `oldObject`; absent = dyn. */
  readonly object?: CelType;
  readonly params?: boolean;
  readonly authorizer?: boolean;
  /** Whether it may construct `Object` and `JSONPatch`. */
  readonly patches?: boolean;
  /** Types of the variables declared so far by name; absent: there is no `variables`. */
  readonly variables?: ReadonlyMap<string, CelType>;
}

/** Name of the type whose values are what to apply to the object. */
const OPEN_TYPE = "Object";

/** Allowed result types by place. */
const resultsOf = {
  condition: [bool],
  message: [string],
  annotation: [string, nullType],
  applyConfiguration: [objectOf({ name: OPEN_TYPE, field: () => undefined })],
  jsonPatch: [listOf(jsonPatchType)],
} satisfies Readonly<Record<string, readonly CelType[]>>;

/** A place with an expression; that of a `variable` may have any type. */
export type ExpressionPlace = keyof typeof resultsOf | "variable";

const base = Environment.kubernetes({ variables: {} });

function environmentOf(scope: ExpressionScope): Environment {
  const { object = dyn, params = false, authorizer = false, patches = false, variables } = scope;
  return base.extend({
    variables: {
      object,
      oldObject: object,
      request: requestType,
      namespaceObject: namespaceType,
      ...(params ? { params: dyn } : {}),
      ...(authorizer
        ? { authorizer: authorizerType, "authorizer.requestResource": resourceCheckType }
        : {}),
      ...(variables === undefined ? {} : { variables: variablesType(variables) }),
    },
    ...(patches ? { openType: OPEN_TYPE } : {}),
  });
}

type CompiledExpression =
  | { readonly program: Program; readonly error?: undefined; readonly isInternal?: undefined }
  /** The detail of the `Invalid value` that reports it. */
  | {
      readonly program?: undefined;
      readonly error: string;
      /** Told as an internal error: the types are right, but a constant part has no value. */
      readonly isInternal?: boolean;
    };

/** @param place determines the result type */
export function compileExpression(
  text: string,
  place: ExpressionPlace,
  scope: ExpressionScope,
): CompiledExpression {
  const { program, reason, isInstantiation } = compile(text, environmentOf(scope));
  if (program === undefined) return { error: reason, isInternal: isInstantiation };
  if (place === "variable") return { program };
  const results: readonly CelType[] = resultsOf[place];
  if (results.some((type) => sameType(type, program.type))) return { program };
  const texts = results.map(typeText);
  const wanted = texts.length === 1 ? texts[0] : `one of [${texts.join(" ")}]`;
  return { error: `must evaluate to ${wanted} but got ${typeText(program.type)}` };
}

interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

/** Compiles variables in order; returns the scope for later expressions. */
export function variableTypes(variables: readonly NamedExpression[], scope: ExpressionScope) {
  const types = new Map<string, CelType>();
  const extended = variables.length === 0 ? scope : { ...scope, variables: types };
  const compiled = variables.map(({ name, expression }) => {
    const made = compileExpression(expression.trim(), "variable", extended);
    types.set(name, made.program?.type ?? dyn);
    return { name, expression, ...made };
  });
  return { scope: extended, compiled };
}

/**
 * Compiles an expression at `path`, which takes its time; a problem unless it is as it should be.
 * `then` is told its type, in the order of these calls.
 */
export function checkExpression(
  text: string,
  path: Path,
  rest: {
    readonly place: ExpressionPlace;
    readonly scope: ExpressionScope;
    readonly problems: Problems;
    readonly then?: (type: CelType) => void;
  },
): void {
  rest.problems.defer((problems) => {
    const { program, error, isInternal } = compileExpression(text, rest.place, rest.scope);
    if (program !== undefined) rest.then?.(program.type);
    else if (isInternal !== true) problems.invalid(path, text, error);
    else problems.add({ type: "InternalError", field: path.toString(), detail: error });
  });
}
