/** What an expression may cost at most, from declared sizes. Rules and factors are Kubernetes'. */
import type { CallNode, ComprehensionNode, Expression, SelectNode } from "../syntax/ast.ts";
import type { Checked } from "../check/checker.ts";
import { callEstimate, type CallEstimate, type Sized } from "./cost-calls.ts";
import { exactly, nothing, plus, type Range, times, unbounded, union, unit } from "./cost-range.ts";
import { codePoints } from "../syntax/source.ts";
import { type CelType, dyn, isOptional, parameterOf } from "../check/types.ts";

/** Which parameter of a container's type its elements have. */
const indexed: ReadonlyMap<string, number> = new Map([
  ["index_list", 0],
  ["index_map", 1],
]);

const scalars: ReadonlySet<string> = new Set([
  "bool",
  "double",
  "duration",
  "int",
  "timestamp",
  "uint",
]);

/** Whether values of the type all have one size. */
function isScalar(type: CelType): boolean {
  return scalars.has(isOptional(type) ? parameterOf(type).kind : type.kind);
}

/** The least and the most that an evaluation spends. */
export function estimateCost(checked: Checked): Range {
  return new Estimator(checked).cost(checked.expression);
}

/** How a node names data: a variable, a field of it, an element. */
interface Path {
  /** The declared type of what is there; undefined where nothing is declared. */
  readonly type: CelType | undefined;
}

/** What a comprehension's variable ranges over, or what a binding is bound to. */
interface Local {
  readonly name: string;
  readonly path: Path | undefined;
  readonly size: Range | undefined;
}

class Estimator {
  private readonly sizes = new Map<Expression, Range>();
  /** Of the nodes that have one. */
  private readonly paths = new Map<Expression, Path>();
  private readonly locals: Local[] = [];

  /** Type of the value that rules are about; undefined where the expression does not use it. */
  private readonly self: CelType | undefined;

  constructor(private readonly checked: Checked) {
    for (const [node, { kind }] of checked.references) {
      if (kind !== "variable" || node.kind !== "identifier" || node.name !== "self") continue;
      this.self = checked.types.get(node);
      break;
    }
  }

  cost(node: Expression): Range {
    switch (node.kind) {
      case "literal":
        return nothing;
      case "identifier":
        this.named(node, node.name);
        return unit;
      case "select":
        return this.select(node);
      case "call":
        return this.call(node);
      case "list":
        return node.elements.reduce((sum, { value }) => plus(sum, this.cost(value)), exactly(10));
      case "map":
        return node.entries.reduce(
          (sum, { key, value }) => plus(sum, plus(this.cost(key), this.cost(value))),
          exactly(30),
        );
      case "struct":
        return node.fields.reduce((sum, { value }) => plus(sum, this.cost(value)), exactly(40));
      case "comprehension":
        return this.comprehension(node);
    }
  }

  private type(node: Expression): CelType {
    return this.checked.types.get(node) ?? dyn;
  }

  private named(node: Expression, name: string): void {
    const reference = this.checked.references.get(node);
    if (reference?.kind === "variable") this.declare(node, this.type(node));
    // Kubernetes takes every name for that of the value at hand when it asks for sizes.
    if (reference?.kind === "type") this.declare(node, this.self);
    if (reference?.kind !== "local") return;
    const local = this.locals.findLast((one) => one.name === name);
    if (local?.path !== undefined) this.paths.set(node, local.path);
    if (local?.size !== undefined) this.sizes.set(node, local.size);
  }

  private declare(node: Expression, type: CelType | undefined): void {
    this.paths.set(node, { type });
  }

  /**
   * What is declared of a part of what a node names. Kubernetes takes the first step of a path for
   * the value at hand, also where it is the first because the node names nothing: the elements of
   * `(has(self.a) ? self.a : [])` are as large as `self`.
   */
  private part(node: Expression, of: (whole: CelType) => CelType | undefined): Path {
    const path = this.paths.get(node);
    if (path === undefined) return { type: this.self };
    return { type: path.type && of(path.type) };
  }

  private select(node: SelectNode): Range {
    if (this.checked.references.has(node)) {
      this.declare(node, this.type(node));
      return unit;
    }
    const operand = this.cost(node.operand);
    if (node.test) return operand;
    this.paths.set(
      node,
      this.part(node.operand, ({ object }) => object?.field(node.field)?.type),
    );
    const { kind } = this.type(node.operand);
    return kind === "map" || kind === "object" ? plus(operand, unit) : operand;
  }

  size(node: Expression): Range {
    return this.knownSize(node) ?? (isScalar(this.type(node)) ? unit : unbounded);
  }

  private knownSize(node: Expression): Range | undefined {
    const computed = this.sizes.get(node);
    if (computed !== undefined) return computed;
    switch (node.kind) {
      case "literal":
        return literalSize(node);
      case "list":
        return exactly(node.elements.length);
      case "map":
        return exactly(node.entries.length);
      default:
    }
    const declared = this.paths.get(node)?.type;
    return declared === undefined ? undefined : declaredSize(declared);
  }

  /** Sizes of a list's elements. */
  private elementSize(node: Expression): Range {
    const declared = this.paths.get(node)?.type;
    return declared?.kind === "list" ? declaredSize(parameterOf(declared)) : unbounded;
  }

  private sized(node: Expression): Sized {
    return {
      type: this.type(node),
      literal: node.kind === "literal" ? node.literal : undefined,
      size: this.size(node),
      // Libraries know no size of scalars.
      librarySize: this.knownSize(node) ?? unbounded,
      elementSize: this.elementSize(node),
    };
  }

  private call(node: CallNode): Range {
    const reference = this.checked.references.get(node);
    const costs = node.arguments.map((argument) => this.cost(argument));
    if (node.name === "_?._") return plus(costs[0] ?? nothing, unit);
    if (reference?.kind !== "call") return costs.reduce(plus, nothing);
    const isMember = reference.arguments.length > node.arguments.length;
    const targetCost = isMember && node.target !== undefined ? this.cost(node.target) : nothing;
    const special = this.operator(node, costs);
    if (special !== undefined) return special;
    let total: CallEstimate | undefined;
    const given = reference.arguments.map((argument) => this.sized(argument));
    for (const { id } of reference.overloads) {
      const one = callEstimate(reference.name, id, given);
      total = total === undefined ? one : unionOf(total, one);
      this.followIndex(node, id);
    }
    if (total?.size !== undefined) this.sizes.set(node, total.size);
    return costs.reduce(plus, plus(targetCost, total?.cost ?? nothing));
  }

  private followIndex(node: CallNode, overload: string): void {
    const [container] = node.arguments;
    const which = indexed.get(overload);
    if (container === undefined || which === undefined) return;
    this.paths.set(
      node,
      this.part(container, (whole) => parameterOf(whole, which)),
    );
  }

  /** Operators that do not evaluate all of their operands. */
  private operator(node: CallNode, costs: readonly Range[]): Range | undefined {
    const [first = nothing, second = nothing, third = nothing] = costs;
    switch (node.name) {
      case "_&&_":
      case "_||_":
        return { min: first.min, max: first.max + second.max };
      case "_?_:_": {
        const [, yes, no] = node.arguments;
        if (yes !== undefined && no !== undefined) {
          this.sizes.set(node, union(this.size(yes), this.size(no)));
        }
        return plus(first, union(second, third));
      }
      default:
        return undefined;
    }
  }

  private comprehension(node: ComprehensionNode): Range {
    const range = this.cost(node.range);
    const initial = this.cost(node.initial);
    const count = this.size(node.range);
    const isList = this.type(node.range).kind === "list";
    const inner = (which: number): Path =>
      this.part(node.range, (whole) => parameterOf(whole, which));
    this.locals.push({
      name: node.accumulator,
      path: this.paths.get(node.initial),
      size: node.accumulator.startsWith("@") ? undefined : this.knownSize(node.initial),
    });
    const outer = this.locals.length;
    if (node.second === undefined) {
      this.locals.push({ name: node.variable, path: inner(0), size: undefined });
    } else {
      const key = isList ? { path: undefined, size: unit } : { path: inner(0), size: undefined };
      this.locals.push({ name: node.variable, ...key });
      this.locals.push({ name: node.second, path: inner(isList ? 0 : 1), size: undefined });
    }
    const turn = plus(this.cost(node.condition), this.cost(node.step));
    this.locals.length = outer;
    const result = this.cost(node.result);
    this.locals.pop();
    this.resultSize(node, count);
    return [initial, result, times(count, turn)].reduce(plus, range);
  }

  private resultSize(node: ComprehensionNode, count: Range): void {
    if (node.variable === "#unused") this.sizes.set(node, this.size(node.result));
    else if (node.initial.kind === "literal")
      this.sizes.set(node, literalSize(node.initial) ?? unit);
    else if (node.initial.kind === "list" || node.initial.kind === "map") {
      this.sizes.set(node, { min: 0, max: count.max });
    }
  }
}

/**
 * Values that declarations lead to: containers by their bound; a scalar has no size there, and
 * neither has an object with declared fields.
 */
function declaredSize(type: CelType): Range {
  if (type.maximumSize !== undefined) return { min: 0, max: type.maximumSize };
  return scalars.has(type.kind) || type.kind === "object" ? nothing : unbounded;
}

function literalSize(node: Extract<Expression, { kind: "literal" }>): Range {
  const { literal } = node;
  switch (literal.type) {
    case "string":
      return exactly(codePoints(literal.value));
    case "bytes":
      return exactly(literal.value.length);
    default:
      return unit;
  }
}

function unionOf(left: CallEstimate, right: CallEstimate): CallEstimate {
  const size =
    left.size !== undefined && right.size !== undefined
      ? union(left.size, right.size)
      : (left.size ?? right.size);
  const cost = union(left.cost, right.cost);
  return size === undefined ? { cost } : { cost, size };
}
