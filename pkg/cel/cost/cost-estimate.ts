/** Cost estimation from declared sizes, by Kubernetes' rules and factors. */
import type { CallNode, ComprehensionNode, Expression, SelectNode } from "../syntax/ast.ts";
import type { Checked } from "../check/checker.ts";
import { callEstimate, type CallEstimate, type Sized } from "./cost-calls.ts";
import { exactly, nothing, plus, type Range, times, unbounded, union, unit } from "./cost-range.ts";
import { codePoints } from "../syntax/source.ts";
import { type CelType, dyn, isOptional, parameterOf } from "../check/types.ts";

/** Index of the type parameter for the elements of a container. */
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

/** Whether all values of the type have the same size. */
function isScalar(type: CelType): boolean {
  return scalars.has(isOptional(type) ? parameterOf(type).kind : type.kind);
}

/**
 * The minimum and maximum cost of an evaluation. `root` is the type of `self`; undefined for expressions
 * that are not rules.
 */
export function estimateCost(checked: Checked, root: CelType | undefined): Range {
  return new Estimator(checked, root).cost(checked.expression);
}

/** The path of the data that a node refers to: a variable, a field or an element. */
interface Path {
  /** The declared type at the path; undefined if there is none. */
  readonly type: CelType | undefined;
}

/** Sizes of the elements of a list, or the keys and values of a map. */
interface EntrySizes {
  readonly container: "list" | "map";
  readonly key: Range;
  readonly value: Range;
}

/** A comprehension variable or `cel.bind` variable. */
interface Local {
  readonly name: string;
  readonly path: Path | undefined;
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

class Estimator {
  private readonly sizes = new Map<Expression, Range>();
  private readonly entries = new Map<Expression, EntrySizes>();
  /** Paths by node. */
  private readonly paths = new Map<Expression, Path>();
  private readonly locals: Local[] = [];

  constructor(
    private readonly checked: Checked,
    private readonly root: CelType | undefined,
  ) {}

  cost(node: Expression): Range {
    switch (node.kind) {
      case "literal":
        return nothing;
      case "identifier":
        this.recordPath(node, node.name);
        return unit;
      case "select":
        return this.select(node);
      case "call":
        return this.call(node);
      case "list":
        return this.list(
          node.elements.map(({ value }) => value),
          node,
        );
      case "map":
        return this.map(node);
      case "struct":
        return node.fields.reduce((sum, { value }) => plus(sum, this.cost(value)), exactly(40));
      case "comprehension":
        return node.variable === "#unused" ? this.binding(node) : this.comprehension(node);
    }
  }

  private type(node: Expression): CelType {
    return this.checked.types.get(node) ?? dyn;
  }

  private local(name: string): Local | undefined {
    return this.locals.findLast((one) => one.name === name);
  }

  private recordPath(node: Expression, name: string): void {
    const local = this.local(name);
    if (local !== undefined) {
      if (local.path !== undefined) this.paths.set(node, local.path);
      return;
    }
    // Kubernetes' size estimator resolves every variable to `self`.
    const isVariable = this.checked.references.get(node)?.kind === "variable";
    this.paths.set(node, { type: this.root ?? (isVariable ? this.type(node) : undefined) });
  }

  /**
   * The path of a child of the node's path. Kubernetes resolves the first element of a path to `self`,
   * even if it is first because the node has no path: the elements of `(has(self.a) ? self.a : [])` have
   * the size of `self`.
   */
  private childPath(node: Expression, of: (whole: CelType) => CelType | undefined): Path {
    const path = this.paths.get(node);
    if (path === undefined) return { type: this.root };
    return { type: path.type && of(path.type) };
  }

  private select(node: SelectNode): Range {
    const reference = this.checked.references.get(node);
    if (reference !== undefined) {
      const isVariable = reference.kind === "variable" && this.root === undefined;
      this.paths.set(node, { type: isVariable ? this.type(node) : this.root });
      return unit;
    }
    const operand = this.cost(node.operand);
    if (node.test) return operand;
    this.paths.set(
      node,
      this.childPath(node.operand, ({ object }) => object?.field(node.field)?.type),
    );
    const { kind } = this.type(node.operand);
    return kind === "map" || kind === "object" ? plus(operand, unit) : operand;
  }

  private size(node: Expression): Range {
    return this.knownSize(node) ?? unbounded;
  }

  private knownSize(node: Expression): Range | undefined {
    const computed = this.sizes.get(node) ?? literalSize(node);
    if (computed !== undefined) return computed;
    const declared = this.paths.get(node)?.type;
    if (declared !== undefined) return declaredSize(declared);
    if (isScalar(this.type(node))) return unit;
    return node.kind === "identifier" ? this.local(node.name)?.size : undefined;
  }

  private entrySizes(node: Expression): EntrySizes | undefined {
    const known = this.entries.get(node);
    if (known !== undefined || node.kind !== "identifier") return known;
    return this.local(node.name)?.entries;
  }

  /** Declared size of a list's elements. */
  private elementSize(node: Expression): Range {
    const declared = this.paths.get(node)?.type;
    return declared?.kind === "list" ? declaredSize(parameterOf(declared)) : unbounded;
  }

  private sized(node: Expression): Sized {
    return {
      type: this.type(node),
      literal: node.kind === "literal" ? node.literal : undefined,
      size: this.size(node),
      elementSize: this.elementSize(node),
    };
  }

  private list(elements: readonly Expression[], node: Expression): Range {
    let sum = exactly(10);
    let value: Range = elements.length === 0 ? nothing : { min: Infinity, max: 0 };
    for (const element of elements) {
      sum = plus(sum, this.cost(element));
      value = union(value, this.size(element));
    }
    this.entries.set(node, { container: "list", key: unit, value });
    return sum;
  }

  private map(node: Extract<Expression, { kind: "map" }>): Range {
    let sum = exactly(30);
    let key: Range = node.entries.length === 0 ? nothing : { min: Infinity, max: 0 };
    let value = key;
    for (const entry of node.entries) {
      sum = plus(sum, plus(this.cost(entry.key), this.cost(entry.value)));
      key = union(key, this.size(entry.key));
      value = union(value, this.size(entry.value));
    }
    this.entries.set(node, { container: "map", key, value });
    return sum;
  }

  private call(node: CallNode): Range {
    const reference = this.checked.references.get(node);
    const [first] = node.arguments;
    if (node.name === "dyn" && first !== undefined) {
      const cost = plus(unit, this.cost(first));
      this.copySizes(node, first);
      return cost;
    }
    const costs = node.arguments.map((argument) => this.cost(argument));
    const spent = costs.reduce(plus, nothing);
    if (node.name === "_?._") return plus(spent, unit);
    if (reference?.kind !== "call") return nothing;
    const isMember = reference.arguments.length > node.arguments.length;
    const target = isMember && node.target !== undefined ? this.cost(node.target) : nothing;
    const special = this.operator(node, costs);
    if (special !== undefined) return special;
    let total: CallEstimate | undefined;
    const given = reference.arguments.map((argument) => this.sized(argument));
    let size: Range | undefined;
    for (const { id } of reference.overloads) {
      const one = callEstimate(reference.name, id, given);
      total = total === undefined ? one : { cost: union(total.cost, one.cost) };
      if (one.size !== undefined) size = size === undefined ? one.size : union(size, one.size);
      if (indexed.has(id)) size = this.index(node, id);
      size ??= this.knownSize(node);
    }
    if (node.name === "_+_") this.joinEntries(node, node.arguments[0], node.arguments[1]);
    if (size !== undefined) this.sizes.set(node, size);
    return plus(plus(target, spent), total?.cost ?? nothing);
  }

  /** The element's size, if it is known from the expression instead of declarations. */
  private index(node: CallNode, overload: string): Range | undefined {
    const [container] = node.arguments;
    const which = indexed.get(overload);
    if (container === undefined || which === undefined) return undefined;
    this.paths.set(
      node,
      this.childPath(container, (whole) => parameterOf(whole, which)),
    );
    return this.entrySizes(container)?.value;
  }

  private copySizes(to: Expression, from: Expression): void {
    const size = this.knownSize(from);
    const entries = this.entrySizes(from);
    if (size !== undefined) this.sizes.set(to, size);
    if (entries !== undefined) this.entries.set(to, entries);
  }

  private joinEntries(node: Expression, left?: Expression, right?: Expression): void {
    const one = left && this.entrySizes(left);
    const other = right && this.entrySizes(right);
    if (one === undefined || other === undefined) return;
    const { container } = one;
    const [key, value] = [union(one.key, other.key), union(one.value, other.value)];
    this.entries.set(node, { container, key, value });
  }

  /** Cost of operators that do not evaluate all operands. */
  private operator(node: CallNode, costs: readonly Range[]): Range | undefined {
    const [first = nothing, second = nothing, third = nothing] = costs;
    switch (node.name) {
      case "_&&_":
      case "_||_":
        this.sizes.set(node, unit);
        return { min: first.min, max: first.max + second.max };
      case "_?_:_": {
        const [, yes, no] = node.arguments;
        if (yes !== undefined && no !== undefined) {
          this.sizes.set(node, union(this.size(yes), this.size(no)));
          this.joinEntries(node, yes, no);
        }
        return plus(first, union(second, third));
      }
      default:
        return undefined;
    }
  }

  private bound(node: ComprehensionNode): Local {
    const { accumulator: name, initial } = node;
    const path = this.paths.get(initial);
    return { name, path, size: this.knownSize(initial), entries: this.entrySizes(initial) };
  }

  /** Cost of `cel.bind`, a fold over an empty range. */
  private binding(node: ComprehensionNode): Range {
    const range = this.cost(node.range);
    const initial = this.cost(node.initial);
    this.locals.push(this.bound(node));
    const result = this.cost(node.result);
    this.locals.pop();
    this.copySizes(node, node.result);
    return [initial, result].reduce(plus, range);
  }

  private comprehension(node: ComprehensionNode): Range {
    const range = this.cost(node.range);
    const initial = this.cost(node.initial);
    this.locals.push(this.bound(node));
    const outer = this.locals.length;
    this.locals.push(...this.loopVariables(node));
    const turn = plus(this.cost(node.condition), this.cost(node.step));
    this.locals.length = outer;
    const result = this.cost(node.result);
    this.locals.pop();
    const count = this.size(node.range);
    this.resultSize(node, count);
    return [initial, result, times(count, turn)].reduce(plus, range);
  }

  private loopVariables({ variable, second, range }: ComprehensionNode): readonly Local[] {
    const known = this.entrySizes(range);
    const isList = (known?.container ?? this.type(range).kind) === "list";
    const inner = (which: number): Path =>
      this.childPath(range, (whole) => parameterOf(whole, which));
    const value = { path: inner(isList ? 0 : 1), size: known?.value, entries: undefined };
    // List indexes have no path.
    const place = isList ? { type: undefined } : inner(0);
    const key = { path: place, size: known?.key, entries: undefined };
    if (second === undefined) return [{ name: variable, ...(isList ? value : key) }];
    return [
      { name: variable, ...key },
      { name: second, ...value },
    ];
  }

  private resultSize(node: ComprehensionNode, count: Range): void {
    const { initial } = node;
    if (initial.kind === "literal") this.sizes.set(node, literalSize(initial) ?? unit);
    if (initial.kind !== "list" && initial.kind !== "map") return;
    this.sizes.set(node, count);
    const entries = this.entrySizes(node.step);
    if (entries !== undefined) this.entries.set(node, entries);
  }
}

/**
 * The size of a declared value: for containers their maximum; scalars and objects with declared fields
 * have none.
 */
function declaredSize(type: CelType): Range {
  if (type.maximumSize !== undefined) return { min: 0, max: type.maximumSize };
  return scalars.has(type.kind) || type.kind === "object" ? nothing : unbounded;
}

/** The size of a literal. */
function literalSize(node: Expression): Range | undefined {
  if (node.kind === "list") return exactly(node.elements.length);
  if (node.kind === "map") return exactly(node.entries.length);
  if (node.kind !== "literal") return undefined;
  const { literal } = node;
  if (literal.type === "string") return exactly(codePoints(literal.value));
  return literal.type === "bytes" ? exactly(literal.value.length) : unit;
}
