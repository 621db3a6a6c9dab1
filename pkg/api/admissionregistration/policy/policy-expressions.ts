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

/** Variables of an expression besides `object`, `oldObject`, `request` and `namespaceObject`. */
export interface ExpressionScope {
  /** Type of `object` and `oldObject`; absent = dyn. */
  readonly object?: CelType;
  readonly params?: boolean;
  readonly authorizer?: boolean;
  /** Whether the types `Object` and `JSONPatch` are declared. */
  readonly hasPatchTypes?: boolean;
  /** Types of the declared variables by name; absent = `variables` is undeclared. */
  readonly variables?: ReadonlyMap<string, CelType>;
}

/** Type of an apply configuration, whose fields are not declared. */
const openTypeName = "Object";

/** Allowed result types by position of the expression. */
const resultTypes = {
  condition: [bool],
  message: [string],
  annotation: [string, nullType],
  applyConfiguration: [objectOf({ name: openTypeName, field: () => undefined })],
  jsonPatch: [listOf(jsonPatchType)],
} satisfies Readonly<Record<string, readonly CelType[]>>;

/** Position of an expression; a `variable` may have any type. */
export type ExpressionPosition = keyof typeof resultTypes | "variable";

const base = Environment.kubernetes({ variables: {} });

function environmentOf(scope: ExpressionScope): Environment {
  const {
    object = dyn,
    params = false,
    authorizer = false,
    hasPatchTypes: patches = false,
    variables,
  } = scope;
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
    ...(patches ? { openType: openTypeName } : {}),
  });
}

type CompiledExpression =
  | { readonly program: Program; readonly error?: undefined; readonly isInternal?: undefined }
  /** Detail of the `Invalid value` problem. */
  | {
      readonly program?: undefined;
      readonly error: string;
      /**
       * Reported as an internal error: types are correct, but a constant subexpression fails to
       * evaluate.
       */
      readonly isInternal?: boolean;
    };

/** @param position determines the result type */
export function compileExpression(
  text: string,
  position: ExpressionPosition,
  scope: ExpressionScope,
): CompiledExpression {
  const { program, reason, isInstantiation } = compile(text, environmentOf(scope));
  if (program === undefined) return { error: reason, isInternal: isInstantiation };
  if (position === "variable") return { program };
  const results: readonly CelType[] = resultTypes[position];
  if (results.some((type) => sameType(type, program.type))) return { program };
  const texts = results.map(typeText);
  const expected = texts.length === 1 ? texts[0] : `one of [${texts.join(" ")}]`;
  return { error: `must evaluate to ${expected} but got ${typeText(program.type)}` };
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
    const compiledVariable = compileExpression(expression.trim(), "variable", extended);
    types.set(name, compiledVariable.program?.type ?? dyn);
    return { name, expression, ...compiledVariable };
  });
  return { scope: extended, compiled };
}

/**
 * Defers compilation of the expression at `path` and reports its problems. `then` is called with
 * the result type, in the order of these calls.
 */
export function checkExpression(
  text: string,
  path: Path,
  rest: {
    readonly position: ExpressionPosition;
    readonly scope: ExpressionScope;
    readonly problems: Problems;
    readonly then?: (type: CelType) => void;
  },
): void {
  rest.problems.defer((problems) => {
    const { program, error, isInternal } = compileExpression(text, rest.position, rest.scope);
    if (program !== undefined) rest.then?.(program.type);
    else if (isInternal !== true) problems.invalid(path, text, error);
    else problems.add({ type: "InternalError", field: path.toString(), detail: error });
  });
}
