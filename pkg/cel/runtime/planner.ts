/** Compiles a checked expression into closures. */
import type { CallNode, ComprehensionNode, Expression, SelectNode } from "../syntax/ast.ts";
import { appendStep, optionalSelectStep, selectStep, testStep } from "./access.ts";
import type { Checked, Reference } from "../check/checker.ts";
import { dispatchStep } from "./dispatch.ts";
import { type Constants, foldConstants } from "./constants.ts";
import { foldStep, interruptibleFold } from "./fold.ts";
import { Frame, type Evaluator } from "./frame.ts";
import { JsonObject } from "../value/json-values.ts";
import { literalValue } from "../check/literal-types.ts";
import { conditionalStep, logicalStep, notStrictlyFalseStep } from "./logic.ts";
import { type CelType, dyn } from "../check/types.ts";
import {
  CelFault,
  HashMap,
  ArrayList,
  noSuchOverload,
  OptionalValue,
  TypeValue,
  type Value,
} from "../value/values.ts";

export interface Plan {
  readonly step: Evaluator;
  /** Variables in the order of their slots, which precede those of comprehensions. */
  readonly variables: readonly string[];
  readonly slotCount: number;
}

/** @throws CelFault if a constant subexpression fails */
export function plan(checked: Checked): Plan {
  const variables = new Set<string>();
  for (const reference of checked.references.values()) {
    if (reference.kind === "variable") variables.add(reference.name);
  }
  const planner = new Planner(checked, [...variables]);
  const step = planner.plan(checked.expression, undefined);
  return { step, variables: [...variables], slotCount: planner.slotCount };
}

/** Slots of a comprehension's variables. */
interface SlotScope {
  readonly slots: ReadonlyMap<string, number>;
  /** The accumulator to which `appendStep` may append in place. */
  readonly growing: number | undefined;
  readonly outer: SlotScope | undefined;
}

class Planner {
  slotCount: number;
  private constants: Constants = new Map();

  constructor(
    private readonly checked: Checked,
    private readonly variables: readonly string[],
  ) {
    this.slotCount = variables.length;
    this.constants = foldConstants(checked, (node, constants) => {
      this.constants = constants;
      return this.plan(node, undefined)(new Frame([], Infinity));
    });
  }

  plan(node: Expression, scope: SlotScope | undefined): Evaluator {
    const constant = this.constants.get(node);
    if (constant !== undefined) return () => constant;
    const reference = this.checked.references.get(node);
    if (reference !== undefined && reference.kind !== "call" && reference.kind !== "construct") {
      return this.name(reference, scope);
    }
    switch (node.kind) {
      case "literal": {
        const value = literalValue(node.literal);
        return () => value;
      }
      case "identifier":
        throw new CelFault(`undeclared reference to '${node.name}'`);
      case "select":
        return this.select(node, scope);
      case "call":
        return this.call(node, reference, scope);
      case "list":
        return this.list(node.elements, scope);
      case "map":
        return this.map(node.entries, scope);
      case "struct":
        return this.construct(node.fields, reference, scope);
      case "comprehension":
        return this.comprehension(node, scope);
    }
  }

  private name(
    reference: Exclude<Reference, { kind: "call" | "construct" }>,
    scope: SlotScope | undefined,
  ): Evaluator {
    if (reference.kind === "type") {
      const value = new TypeValue(reference.type.name);
      return () => value;
    }
    const { name } = reference;
    const slot = reference.kind === "local" ? slotOf(name, scope) : this.variables.indexOf(name);
    return (frame) => {
      frame.spend(1);
      const value = frame.slots[slot];
      if (value === undefined) throw new CelFault(`no such attribute(s): ${name}`);
      if (value instanceof CelFault) throw value;
      return value;
    };
  }

  private type(node: Expression): CelType {
    return this.checked.types.get(node) ?? dyn;
  }

  private select(node: SelectNode, scope: SlotScope | undefined): Evaluator {
    const operand = this.plan(node.operand, scope);
    if (node.test) return testStep(operand, node.field);
    return selectStep(operand, node.field, isAttribute(node.operand) ? 1 : 2);
  }

  private call(
    node: CallNode,
    reference: Reference | undefined,
    scope: SlotScope | undefined,
  ): Evaluator {
    const [first, second, third] = node.arguments;
    switch (node.name) {
      case "_&&_":
      case "_||_":
        if (first === undefined || second === undefined) break;
        return logicalStep(this.plan(first, scope), this.plan(second, scope), node.name === "_||_");
      case "_?_:_":
        if (first === undefined || second === undefined || third === undefined) break;
        return conditionalStep(
          this.plan(first, scope),
          this.plan(second, scope),
          this.plan(third, scope),
        );
      case "@not_strictly_false":
        if (first !== undefined) return notStrictlyFalseStep(this.plan(first, scope));
        break;
      case "_?._":
        if (first === undefined || second?.kind !== "literal") break;
        return optionalSelectStep(this.plan(first, scope), String(literalValue(second.literal)));
      case "or":
      case "orValue":
        if (node.target !== undefined && first !== undefined && this.isOptionalCall(reference)) {
          return this.planOptionalOr(node.target, first, { scope, whole: node.name === "or" });
        }
        break;
      case "_+_": {
        const growing = appended(node, scope);
        if (growing === undefined) break;
        const isConstant = this.constants.has(growing.element);
        // Cost of an identifier, an addition, and a list of one element unless it is constant.
        const cost = isConstant ? 2 : 12;
        return appendStep(growing.slot, this.plan(growing.element, scope), cost);
      }
      default:
    }
    if (reference?.kind !== "call") throw new CelFault(`undeclared reference to '${node.name}'`);
    return dispatchStep(reference, {
      arguments: reference.arguments.map((argument) => this.plan(argument, scope)),
      types: reference.arguments.map((argument) => this.type(argument)),
      literals: reference.arguments.map((argument) =>
        argument.kind === "literal" ? literalValue(argument.literal) : undefined,
      ),
      relative: node.name === "_[_]" && !isAttribute(node.arguments[0]),
    });
  }

  private isOptionalCall(reference: Reference | undefined): boolean {
    return (
      reference?.kind === "call" &&
      reference.overloads.every((candidate) => candidate.id.startsWith("optional_"))
    );
  }

  /** `or` and `orValue`: evaluates the second operand only if the optional is empty. */
  private planOptionalOr(
    target: Expression,
    other: Expression,
    { scope, whole }: { readonly scope: SlotScope | undefined; readonly whole: boolean },
  ): Evaluator {
    const present = this.plan(target, scope);
    const fallback = this.plan(other, scope);
    return (frame) => {
      const value = present(frame);
      frame.spend(1);
      if (!(value instanceof OptionalValue)) throw noSuchOverload();
      if (value.value === undefined) return fallback(frame);
      return whole ? value : value.value;
    };
  }

  private list(
    elements: readonly { readonly value: Expression; readonly optional: boolean }[],
    scope: SlotScope | undefined,
  ): Evaluator {
    const steps = elements.map(({ value }) => this.plan(value, scope));
    const optionals = elements.map(({ optional }) => optional);
    const anyOptional = optionals.includes(true);
    return (frame) => {
      frame.spend(10);
      const items: Value[] = [];
      for (let at = 0; at < steps.length; at++) {
        const value = steps[at]?.(frame) ?? null;
        if (!anyOptional || optionals[at] !== true) items.push(value);
        else if (!(value instanceof OptionalValue)) throw noSuchOverload();
        else if (value.value !== undefined) items.push(value.value);
      }
      return new ArrayList(items);
    };
  }

  private map(
    entries: readonly {
      readonly key: Expression;
      readonly value: Expression;
      readonly optional: boolean;
    }[],
    scope: SlotScope | undefined,
  ): Evaluator {
    const steps = entries.map(({ key, value, optional }) => ({
      key: this.plan(key, scope),
      value: this.plan(value, scope),
      optional,
    }));
    return (frame) => {
      frame.spend(30);
      const map = new HashMap();
      for (const { key, value, optional } of steps) {
        const name = key(frame);
        const given = optional ? unwrap(value(frame)) : value(frame);
        if (given !== undefined) map.add(name, given);
      }
      return map;
    };
  }

  private construct(
    fields: readonly {
      readonly field: string;
      readonly value: Expression;
      readonly optional: boolean;
    }[],
    reference: Reference | undefined,
    scope: SlotScope | undefined,
  ): Evaluator {
    if (reference?.kind !== "construct") throw new CelFault("undeclared reference");
    const { type, message } = reference;
    const steps = fields.map(({ field, value, optional }) => ({
      key: type.object?.field(field)?.key ?? field,
      value: this.plan(value, scope),
      optional,
    }));
    return (frame) => {
      frame.spend(40);
      const raw: Record<string, Value> = Object.create(null);
      for (const { key, value, optional } of steps) {
        const given = optional ? unwrap(value(frame)) : value(frame);
        if (given !== undefined) raw[key] = given;
      }
      if (message !== undefined) return message.make(raw);
      const fault = type.object?.fault?.(raw);
      if (fault !== undefined) throw new CelFault(fault);
      return new JsonObject(raw, type, type.name);
    };
  }

  private initial(node: Expression, scope: SlotScope | undefined): Evaluator {
    return emptyCollection(node) ?? this.plan(node, scope);
  }

  private comprehension(node: ComprehensionNode, scope: SlotScope | undefined): Evaluator {
    const accumulator = this.slotCount++;
    const variable = this.slotCount++;
    const second = this.slotCount++;
    const grows = node.initial.kind === "list" && node.initial.elements.length === 0;
    const folding: SlotScope = {
      slots: new Map([[node.accumulator, accumulator]]),
      growing: grows ? accumulator : undefined,
      outer: scope,
    };
    const names = new Map([[node.variable, variable]]);
    if (node.second !== undefined) names.set(node.second, second);
    const looping: SlotScope = { slots: names, growing: undefined, outer: folding };
    const fold = {
      range: this.plan(node.range, scope),
      initial: this.initial(node.initial, scope),
      condition: this.plan(node.condition, looping),
      step: this.plan(node.step, looping),
      result: this.plan(node.result, folding),
      absorbs: node.condition.kind === "call",
      slots: { accumulator, variable, second: node.second === undefined ? undefined : second },
    };
    return scope === undefined ? interruptibleFold(fold) : foldStep(fold);
  }
}

/** Evaluates to a fresh collection, which the fold modifies in place. */
function emptyCollection(node: Expression): Evaluator | undefined {
  if (node.kind === "list" && node.elements.length === 0) return () => new ArrayList([]);
  return node.kind === "map" && node.entries.length === 0 ? () => new HashMap() : undefined;
}

function unwrap(value: Value): Value | undefined {
  if (!(value instanceof OptionalValue)) throw noSuchOverload();
  return value.value;
}

function slotOf(name: string, scope: SlotScope | undefined): number {
  for (let inner = scope; inner !== undefined; inner = inner.outer) {
    const slot = inner.slots.get(name);
    if (slot !== undefined) return slot;
  }
  throw new CelFault(`undeclared reference to '${name}'`);
}

/** Plans `accumulator + [element]` within the accumulator's fold. */
function appended(
  node: CallNode,
  scope: SlotScope | undefined,
): { readonly slot: number; readonly element: Expression } | undefined {
  const [left, right] = node.arguments;
  const slot = scope?.outer?.growing;
  if (slot === undefined || left?.kind !== "identifier" || !left.name.startsWith("@")) {
    return undefined;
  }
  if (right?.kind !== "list" || right.elements.length !== 1) return undefined;
  const element = right.elements[0]?.value;
  return element === undefined ? undefined : { slot, element };
}

/** Whether the node is an attribute: an identifier with its selections has a single cost. */
function isAttribute(node: Expression | undefined): boolean {
  if (node === undefined) return false;
  if (node.kind === "identifier" || node.kind === "select") return true;
  return node.kind === "call" && ["_[_]", "_[?_]", "_?._"].includes(node.name);
}
