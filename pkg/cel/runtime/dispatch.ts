/** Function calls: selects the overload at compile time where types allow, else at run time. */
import type { Reference } from "../check/checker.ts";
import { actualCost, type ActualCost } from "../cost/cost-actual.ts";
import type { Implementation, Overload } from "../check/declare.ts";
import type { Evaluator } from "./frame.ts";
import { type CelType, parameterOf } from "../check/types.ts";
import { CelFault, ListValue, typeName, type Value } from "../value/values.ts";

interface Arguments {
  readonly arguments: readonly Evaluator[];
  readonly types: readonly CelType[];
  readonly literals: readonly (Value | undefined)[];
  /** Whether the call is relative to the result of another call, which costs one more unit. */
  readonly relative: boolean;
}

type CallReference = Extract<Reference, { kind: "call" }>;

/** Compiles a call. @throws CelFault if there is no overload */
export function dispatchStep(reference: CallReference, given: Arguments): Evaluator {
  const { name, overloads } = reference;
  const [first] = overloads;
  if (first === undefined) throw new CelFault(`no such overload: ${name}`);
  const hasOneImplementation = overloads.every(
    ({ implementation }) => implementation === first.implementation,
  );
  const isChecked = overloads.length === 1 && needsNoCheck(first, given.types);
  const callsDirectly = hasOneImplementation && (isChecked || isOperator(name));
  const call = callsDirectly ? first.implementation : dynamicOverload(name, overloads);
  const cost = actualCost(name, overloads.length === 1 ? first.id : "", given.types);
  if (typeof cost === "number") return fixedStep(call, given, cost + (given.relative ? 1 : 0));
  return costedStep(call, given, cost);
}

/** Whether the implementation checks the types of its operands: operators and `size`. */
function isOperator(name: string): boolean {
  return (name.includes("_") && !/[a-z]/.test(name)) || name === "@in" || name === "size";
}

/** A call of constant cost. */
function fixedStep(call: Implementation, { arguments: steps }: Arguments, cost: number): Evaluator {
  const [first, second] = steps;
  if (steps.length === 1 && first !== undefined) {
    return (frame) => {
      const value = first(frame);
      frame.spend(cost);
      return call(value);
    };
  }
  if (steps.length === 2 && first !== undefined && second !== undefined) {
    return (frame) => {
      const left = first(frame);
      const right = second(frame);
      frame.spend(cost);
      return call(left, right);
    };
  }
  return (frame) => {
    const values = steps.map((step) => step(frame));
    frame.spend(cost);
    return call(...values);
  };
}

/** A call whose cost depends on its arguments, and is charged before the call, or on its result. */
function costedStep(
  call: Implementation,
  { arguments: steps }: Arguments,
  cost: ActualCost,
): Evaluator {
  const [first, second] = steps;
  if (steps.length === 2 && first !== undefined && second !== undefined) {
    return (frame) => {
      const left = first(frame);
      const right = second(frame);
      if (!cost.needsResult) frame.spend(cost.of(left, right, null));
      const result = call(left, right);
      if (cost.needsResult) frame.spend(cost.of(left, right, result));
      return result;
    };
  }
  return (frame) => {
    const values = steps.map((step) => step(frame));
    const [left = null, right = null] = values;
    if (!cost.needsResult) frame.spend(cost.of(left, right, null));
    const result = call(...values);
    if (cost.needsResult) frame.spend(cost.of(left, right, result));
    return result;
  };
}

/** Whether the static types of the arguments guarantee those of the parameters. */
function needsNoCheck(overload: Overload, types: readonly CelType[]): boolean {
  return overload.parameters.every((parameter, index) => {
    if (parameter.kind === "parameter" || parameter.kind === "dyn") return true;
    return types[index]?.kind === parameter.kind;
  });
}

/** Selects the overload by the types of the values. */
function dynamicOverload(name: string, overloads: readonly Overload[]): Implementation {
  return (...values) => {
    for (const { parameters, implementation } of overloads) {
      if (parameters.every((type, index) => hasType(values[index] ?? null, type))) {
        return implementation(...values);
      }
    }
    throw new CelFault(`no such overload: ${name}(${values.map(typeName).join(", ")})`);
  };
}

function hasType(value: Value, type: CelType): boolean {
  switch (type.kind) {
    case "dyn":
    case "parameter":
      return true;
    case "list": {
      // Checks only the first element, as cel-go does.
      const isList = value instanceof ListValue;
      return isList && (value.length === 0 || hasType(value.at(0), parameterOf(type)));
    }
    case "map":
      return typeName(value) === "map";
    default:
      return typeName(value) === type.name;
  }
}
