/** Macro expansion: calls are replaced by comprehensions or presence tests before type checking. */
import { call, type ComprehensionNode, type Expression, identifier, literal } from "./ast.ts";

/** Invalid arguments of a macro. */
export class MacroFault extends Error {
  override readonly name = "MacroFault";
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

/** Optional macros. */
export interface MacroOptions {
  /** Whether `cel.bind(name, value, expression)` is enabled. */
  readonly bindings?: boolean;
}

interface MacroCall {
  readonly at: number;
  readonly name: string;
  readonly target: Expression | undefined;
  readonly arguments: readonly Expression[];
}

/** Name of the accumulator variable, which expressions cannot contain. */
const accumulatorName = "@result";
const notIdentifierMessage = "argument is not an identifier";
const notSimpleMessage = "argument must be a simple name";

/** Expands a macro call; undefined for other calls. @throws MacroFault */
export function expandMacro(
  node: MacroCall,
  { bindings = false }: MacroOptions = {},
): Expression | undefined {
  const { target, name } = node;
  const count = node.arguments.length;
  if (target === undefined) return name === "has" && count === 1 ? presence(node) : undefined;
  if (bindings && isBind(node)) return binding(node);
  return Object.hasOwn(receivers, `${name}/${count}`)
    ? receivers[`${name}/${count}`]?.(node, target)
    : undefined;
}

type Expansion = (node: MacroCall, target: Expression) => Expression;

const receivers: Readonly<Record<string, Expansion>> = {
  "all/2": quantifier(all, notSimpleMessage),
  "exists/2": quantifier(exists, notSimpleMessage),
  "exists_one/2": quantifier(existsOne, notSimpleMessage),
  "map/2": quantifier(mapped, notIdentifierMessage),
  "map/3": quantifier(mapped, notIdentifierMessage),
  "filter/2": quantifier(filtered, notIdentifierMessage),
  "all/3": pairs(all),
  "exists/3": pairs(exists),
  "existsOne/3": pairs(existsOne),
  "exists_one/3": pairs(existsOne),
  "transformList/3": pairs(mapped),
  "transformList/4": pairs(mapped),
  "transformMap/3": pairs(transformedMap),
  "transformMap/4": pairs(transformedMap),
  "transformMapEntry/3": pairs(transformedEntries),
  "transformMapEntry/4": pairs(transformedEntries),
  "optMap/2": optionalMap,
  "optFlatMap/2": optionalFlatMap,
};

interface Fold {
  readonly initial: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

/**
 * Builds the fold; `body` is the predicate or transformation, preceded by an optional filter, and
 * `variable` the first variable of the comprehension.
 */
type Body = (at: number, body: readonly Expression[], variable: string) => Fold;

function quantifier(body: Body, wrongName: string): Expansion {
  return (node, target) => {
    const [variable, ...rest] = node.arguments;
    const name = simpleName(variable, wrongName);
    return comprehension(node.at, target, { variable: name, ...body(node.at, rest, name) });
  };
}

function pairs(body: Body): Expansion {
  return (node, target) => {
    const [first, second, ...rest] = node.arguments;
    const variable = simpleName(first, notSimpleMessage);
    const name = simpleName(second, notSimpleMessage);
    if (variable === name) {
      throw new MacroFault(second?.at ?? node.at, `duplicate variable name: ${name}`);
    }
    const fold = body(node.at, rest, variable);
    return comprehension(node.at, target, { variable, second: name, ...fold });
  };
}

function comprehension(
  at: number,
  range: Expression,
  rest: Fold & { readonly variable: string; readonly second?: string },
): ComprehensionNode {
  return {
    kind: "comprehension",
    at,
    range,
    accumulator: accumulatorName,
    ...rest,
    second: rest.second,
  };
}

function simpleName(node: Expression | undefined, message: string): string {
  if (node?.kind !== "identifier" || node.rooted) throw new MacroFault(node?.at ?? 0, message);
  if (node.name === "__result__" || node.name === accumulatorName) {
    throw new MacroFault(node.at, "iteration variable overwrites accumulator variable");
  }
  return node.name;
}

const truth = (at: number, value: boolean): Expression => literal(at, { type: "bool", value });
const accumulated = (at: number): Expression => identifier(at, accumulatorName);

function only(body: readonly Expression[]): Expression {
  return body[0] ?? literal(0, { type: "null" });
}

function all(at: number, body: readonly Expression[]): Fold {
  return {
    initial: truth(at, true),
    condition: call(at, "@not_strictly_false", accumulated(at)),
    step: call(at, "_&&_", accumulated(at), only(body)),
    result: accumulated(at),
  };
}

function exists(at: number, body: readonly Expression[]): Fold {
  return {
    initial: truth(at, false),
    condition: call(at, "@not_strictly_false", call(at, "!_", accumulated(at))),
    step: call(at, "_||_", accumulated(at), only(body)),
    result: accumulated(at),
  };
}

function existsOne(at: number, body: readonly Expression[]): Fold {
  const number = (value: bigint): Expression => literal(at, { type: "int", value });
  return {
    initial: number(0n),
    condition: truth(at, true),
    step: call(
      at,
      "_?_:_",
      only(body),
      call(at, "_+_", accumulated(at), number(1n)),
      accumulated(at),
    ),
    result: call(at, "_==_", accumulated(at), number(1n)),
  };
}

function filtered(at: number, body: readonly Expression[], variable: string): Fold {
  return appended(at, { value: identifier(at, variable), filter: only(body) });
}

function mapped(at: number, body: readonly Expression[]): Fold {
  const [first, second] = body;
  return second === undefined || first === undefined
    ? appended(at, { value: only(body) })
    : appended(at, { value: second, filter: first });
}

function appended(
  at: number,
  { value, filter }: { readonly value: Expression; readonly filter?: Expression },
): Fold {
  const one: Expression = { kind: "list", at, elements: [{ value, optional: false }] };
  const step = call(at, "_+_", accumulated(at), one);
  return {
    initial: { kind: "list", at, elements: [] },
    condition: truth(at, true),
    step: filter === undefined ? step : call(at, "_?_:_", filter, step, accumulated(at)),
    result: accumulated(at),
  };
}

/** Uses `cel.@mapInsert`, which adds an entry or all entries of a map. */
function transformedMap(at: number, body: readonly Expression[], variable: string): Fold {
  const [first = only(body), second] = body;
  const key = identifier(at, variable);
  const step = call(at, "cel.@mapInsert", accumulated(at), key, second ?? first);
  return gathered(at, step, second === undefined ? undefined : first);
}

function transformedEntries(at: number, body: readonly Expression[]): Fold {
  const [first = only(body), second] = body;
  const step = call(at, "cel.@mapInsert", accumulated(at), second ?? first);
  return gathered(at, step, second === undefined ? undefined : first);
}

function gathered(at: number, step: Expression, filter: Expression | undefined): Fold {
  return {
    initial: { kind: "map", at, entries: [] },
    condition: truth(at, true),
    step: filter === undefined ? step : call(at, "_?_:_", filter, step, accumulated(at)),
    result: accumulated(at),
  };
}

function presence(node: MacroCall): Expression {
  const operand = only(node.arguments);
  if (operand.kind !== "select" || operand.test) {
    throw new MacroFault(operand.at, "invalid argument to has() macro");
  }
  return { ...operand, at: node.at, test: true };
}

/** A comprehension over an empty range, whose accumulator is the bound variable. */
function bound(
  at: number,
  name: string,
  { initial, result }: { readonly initial: Expression; readonly result: Expression },
): Expression {
  return {
    kind: "comprehension",
    at,
    range: { kind: "list", at, elements: [] },
    variable: "#unused",
    second: undefined,
    accumulator: name,
    initial,
    condition: truth(at, false),
    step: identifier(at, name),
    result,
  };
}

function isBind({ name, target, arguments: { length } }: MacroCall): boolean {
  const isNamespace = target?.kind === "identifier" && target.name === "cel" && !target.rooted;
  return isNamespace && name === "bind" && length === 3;
}

function binding({ at, arguments: [variable, initial, result] }: MacroCall): Expression {
  if (variable?.kind !== "identifier" || variable.rooted) {
    const message = "cel.bind() variable names must be simple identifiers";
    throw new MacroFault(variable?.at ?? at, message);
  }
  return bound(at, variable.name, {
    initial: initial ?? only([]),
    result: result ?? only([]),
  });
}

function optionalMap(node: MacroCall, target: Expression): Expression {
  return whenPresent(node, target, (value) => ({
    ...call(node.at, "optional.of", value),
  }));
}

function optionalFlatMap(node: MacroCall, target: Expression): Expression {
  return whenPresent(node, target, (value) => value);
}

function whenPresent(
  node: MacroCall,
  target: Expression,
  wrap: (value: Expression) => Expression,
): Expression {
  const { at } = node;
  const [variable, body] = node.arguments;
  const name = simpleName(variable, notSimpleMessage);
  const value = { ...call(at, "value"), target };
  const inner = bound(at, name, { initial: value, result: body ?? only([]) });
  const test = { ...call(at, "hasValue"), target };
  return call(at, "_?_:_", test, wrap(inner), call(at, "optional.none"));
}
