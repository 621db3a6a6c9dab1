/** Type checker: determines the type of every node and resolves names and calls. */
import {
  type CallNode,
  type ComprehensionNode,
  type Expression,
  type ListNode,
  type MapNode,
  qualifiedName,
  type SelectNode,
  type StructNode,
} from "../syntax/ast.ts";
import type { FunctionDeclaration, Overload } from "./declare.ts";
import { type CompileIssue, Issues, type Source } from "../syntax/source.ts";
import {
  bool,
  type CelType,
  dyn,
  errorType,
  formatType,
  int,
  isOptional,
  isStructName,
  listOf,
  mapOf,
  optionalOf,
  parameter,
  parameterOf,
} from "./types.ts";
import { Mapping, mostGeneral, substitute, unwrapped } from "./unify.ts";
import { type Message, wellKnownMessage } from "../library/messages.ts";
import { literalType } from "./literal-types.ts";

/** Declarations against which expressions are checked. */
export interface Declarations {
  variable(name: string): CelType | undefined;
  function(name: string): FunctionDeclaration | undefined;
  /** A type by name: `int`, `net.IP`, or an object type that expressions can construct. */
  type(name: string): CelType | undefined;
}

/** The declaration to which a node refers. */
export type Reference =
  | { readonly kind: "local"; readonly name: string }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "type"; readonly type: CelType }
  | { readonly kind: "construct"; readonly type: CelType; readonly message?: Message }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly overloads: readonly Overload[];
      /** Arguments; of a member call, the first is the target. */
      readonly arguments: readonly Expression[];
    };

export interface Checked {
  readonly expression: Expression;
  readonly types: ReadonlyMap<Expression, CelType>;
  readonly references: ReadonlyMap<Expression, Reference>;
  readonly issues: readonly CompileIssue[];
}

interface TypeScope {
  readonly names: ReadonlyMap<string, CelType>;
  readonly outer: TypeScope | undefined;
}

/** Checks a parsed expression. All nodes have a type even if there are issues. */
export function check(expression: Expression, source: Source, declarations: Declarations): Checked {
  const checker = new Checker(source, declarations);
  checker.check(expression, undefined);
  return checker.finish(expression);
}

class Checker {
  private readonly types = new Map<Expression, CelType>();
  private readonly references = new Map<Expression, Reference>();
  private readonly issues: Issues;
  private readonly mapping = new Mapping();
  private freshCount = 0;

  constructor(
    source: Source,
    private readonly declarations: Declarations,
  ) {
    this.issues = new Issues(source);
  }

  finish(expression: Expression): Checked {
    const { references } = this;
    const issues = this.issues.found;
    const types = new Map<Expression, CelType>();
    for (const [node, type] of this.types) types.set(node, substitute(this.mapping, type, true));
    return { expression, types, references, issues };
  }

  check(node: Expression, scope: TypeScope | undefined): CelType {
    const type = this.typeOf(node, scope);
    this.types.set(node, type);
    return type;
  }

  private typeOf(node: Expression, scope: TypeScope | undefined): CelType {
    switch (node.kind) {
      case "literal":
        return literalType(node.literal);
      case "identifier":
        return (
          this.resolveName(node, node.rooted ? undefined : scope) ??
          this.undeclared(node, node.name)
        );
      case "select":
        return this.select(node, scope);
      case "call":
        return this.call(node, scope);
      case "list":
        return this.list(node, scope);
      case "map":
        return this.map(node, scope);
      case "struct":
        return this.struct(node, scope);
      case "comprehension":
        return this.comprehension(node, scope);
    }
  }

  private issue(at: number, message: string): CelType {
    this.issues.add(at, message);
    return errorType;
  }

  private undeclared(node: Expression, name: string): CelType {
    return this.issue(node.at, `undeclared reference to '${name}' (in container '')`);
  }

  private mismatch(at: number, expected: CelType, found: CelType): CelType {
    const words = `expected type '${this.display(expected)}' but found '${this.display(found)}'`;
    return this.issue(at, words);
  }

  private display(type: CelType): string {
    return formatType(substitute(this.mapping, type, true));
  }

  private newTypeVariable(): CelType {
    return parameter(`_var${this.freshCount++}`);
  }

  private assignable(left: CelType, right: CelType): boolean {
    return this.mapping.assignAll([left], [right]);
  }

  /** Resolves a possibly qualified name to a local, a variable or a type. */
  private resolveName(node: Expression, scope: TypeScope | undefined): CelType | undefined {
    const name = qualifiedName(node);
    if (name === undefined) return undefined;
    for (let inner = scope; inner !== undefined; inner = inner.outer) {
      const local = inner.names.get(name);
      if (local === undefined) continue;
      this.references.set(node, { kind: "local", name });
      return local;
    }
    if (scope !== undefined && isLocal(name.split(".", 1)[0] ?? "", scope)) return undefined;
    const variable = this.declarations.variable(name);
    if (variable !== undefined) {
      this.references.set(node, { kind: "variable", name });
      return variable;
    }
    const type = this.declarations.type(name);
    if (type === undefined) return undefined;
    this.references.set(node, { kind: "type", type });
    return { kind: "type", name: "type", parameters: [type] };
  }

  private select(node: SelectNode, scope: TypeScope | undefined): CelType {
    if (!node.test) {
      const whole = this.resolveName(node, scope);
      if (whole !== undefined) return whole;
    }
    const operand = this.check(node.operand, scope);
    const field = this.fieldType(node, operand, { name: node.field, optional: false });
    return node.test ? bool : field;
  }

  private fieldType(
    node: Expression,
    operand: CelType,
    field: { readonly name: string; readonly optional: boolean },
  ): CelType {
    const known = substitute(this.mapping, operand);
    const result = this.member(node, unwrapped(known), field.name);
    return isOptional(known) || field.optional ? optionalOf(result) : result;
  }

  private member(node: Expression, target: CelType, name: string): CelType {
    switch (target.kind) {
      case "map":
        return parameterOf(target, 1);
      case "object": {
        const type = target.object?.field(name)?.type;
        return type ?? this.issue(node.at, `undefined field '${name}'`);
      }
      case "parameter":
        this.assignable(dyn, target);
        return dyn;
      case "dyn":
      case "error":
        return dyn;
      default:
        if (isStructName(target)) {
          // Kubernetes declares it as a struct without fields.
          return this.issue(node.at, `unexpected failed resolution of '${target.name}'`);
        }
        this.issue(node.at, `type '${this.display(target)}' does not support field selection`);
        return dyn;
    }
  }

  private call(node: CallNode, scope: TypeScope | undefined): CelType {
    if (node.name === "_?._") return this.optionalSelect(node, scope);
    const { target } = node;
    const types = node.arguments.map((argument) => this.check(argument, scope));
    const name = node.name.startsWith(".") ? node.name.slice(1) : node.name;
    if (target === undefined) {
      const found = this.declarations.function(name);
      if (found === undefined) return this.undeclared(node, name);
      return this.resolve(node, found, { nodes: node.arguments, types, member: false });
    }
    const prefix = qualifiedName(target);
    const root = prefix?.split(".", 1)[0];
    if (prefix !== undefined && !(scope !== undefined && isLocal(root ?? "", scope))) {
      const found = this.declarations.function(`${prefix}.${name}`);
      if (found !== undefined) {
        return this.resolve(node, found, { nodes: node.arguments, types, member: false });
      }
    }
    const receiver = this.check(target, scope);
    const found = this.declarations.function(name);
    if (found === undefined) return this.undeclared(node, name);
    const nodes = [target, ...node.arguments];
    return this.resolve(node, found, { nodes, types: [receiver, ...types], member: true });
  }

  private resolve(node: CallNode, found: FunctionDeclaration, given: Given): CelType {
    if (found.name === "_&&_" || found.name === "_||_") return this.logical(node, found, given);
    const actual = given.types.map((type) => substitute(this.mapping, type));
    const overloads: Overload[] = [];
    let result: CelType | undefined;
    for (const candidate of found.overloads) {
      if (candidate.member !== given.member) continue;
      const { parameters, result: declared } = this.instantiate(candidate);
      if (!this.mapping.assignAll(actual, parameters)) continue;
      overloads.push(candidate);
      const type = substitute(this.mapping, declared);
      if (result === undefined) result = type;
      else if (result.kind !== "dyn" && formatType(type) !== formatType(result)) result = dyn;
    }
    if (result === undefined) return this.noOverload(node, found.name, given);
    const { nodes } = given;
    this.references.set(node, { kind: "call", name: found.name, overloads, arguments: nodes });
    return result;
  }

  /** Reports each non-boolean operand at its position. */
  private logical(node: CallNode, { name, overloads }: FunctionDeclaration, given: Given): CelType {
    const { nodes, types } = given;
    const notBool = nodes.filter((_operand, index) => !this.assignable(types[index] ?? dyn, bool));
    for (const operand of notBool) {
      this.mismatch(operand.at, bool, types[nodes.indexOf(operand)] ?? dyn);
    }
    if (notBool.length > 0) return errorType;
    this.references.set(node, { kind: "call", name, overloads, arguments: nodes });
    return bool;
  }

  private noOverload(node: CallNode, name: string, given: Given): CelType {
    const typeNames = given.types.map((type) => this.display(type));
    const signature = given.member
      ? `${typeNames[0]}.(${typeNames.slice(1).join(", ")})`
      : `(${typeNames.join(", ")})`;
    return this.issue(
      node.at,
      `found no matching overload for '${name}' applied to '${signature}'`,
    );
  }

  /** Replaces the overload's type variables by new ones. */
  private instantiate(candidate: Overload): Pick<Overload, "parameters" | "result"> {
    if (!candidate.generic) return candidate;
    const own = new Map<string, CelType>();
    const renamed = (type: CelType): CelType => {
      if (type.kind === "parameter") {
        const known = own.get(type.name) ?? this.newTypeVariable();
        own.set(type.name, known);
        return known;
      }
      return type.parameters.length === 0
        ? type
        : { ...type, parameters: type.parameters.map(renamed) };
    };
    return { parameters: candidate.parameters.map(renamed), result: renamed(candidate.result) };
  }

  private optionalSelect(node: CallNode, scope: TypeScope | undefined): CelType {
    const [operand, field] = node.arguments;
    if (operand === undefined || field?.kind !== "literal" || field.literal.type !== "string") {
      return this.issue(node.at, "unsupported optional field selection");
    }
    const type = this.check(operand, scope);
    this.check(field, scope);
    return this.fieldType(node, type, { name: field.literal.value, optional: true });
  }

  /** Joins the element type so far with that of another element. */
  private joined(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current;
    // Mixed types are rejected later by validators.ts, except in arguments of `format`.
    return this.assignable(previous, current) ? mostGeneral(previous, current) : dyn;
  }

  private entryType(entry: { value: Expression; optional: boolean }, scope?: TypeScope): CelType {
    const type = this.check(entry.value, scope);
    if (!entry.optional) return type;
    const known = substitute(this.mapping, type);
    if (isOptional(known)) return parameterOf(known);
    if (known.kind === "dyn" || known.kind === "error") return dyn;
    this.mismatch(entry.value.at, optionalOf(known), known);
    return known;
  }

  private list(node: ListNode, scope: TypeScope | undefined): CelType {
    let element: CelType | undefined;
    for (const entry of node.elements) {
      element = this.joined(element, this.entryType(entry, scope));
    }
    return listOf(element ?? this.newTypeVariable());
  }

  private map(node: MapNode, scope: TypeScope | undefined): CelType {
    let key: CelType | undefined;
    let value: CelType | undefined;
    for (const entry of node.entries) {
      key = this.joined(key, this.check(entry.key, scope));
      value = this.joined(value, this.entryType(entry, scope));
    }
    return mapOf(key ?? this.newTypeVariable(), value ?? this.newTypeVariable());
  }

  private struct(node: StructNode, scope: TypeScope | undefined): CelType {
    const name = node.name.startsWith(".") ? node.name.slice(1) : node.name;
    const message = wellKnownMessage(name);
    const type = message?.type ?? this.declarations.type(name);
    if (type === undefined) return this.undeclared(node, name);
    const fieldOf = (field: string): CelType | undefined =>
      message === undefined ? type.object?.field(field)?.type : message.fields.get(field);
    if (message === undefined && type.object === undefined) {
      return this.issue(node.at, `'${name}' is not a message type`);
    }
    this.references.set(node, {
      kind: "construct",
      type,
      ...(message === undefined ? {} : { message }),
    });
    for (const entry of node.fields) {
      const given = this.entryType(entry, scope);
      const field = fieldOf(entry.field);
      if (field === undefined) this.issue(entry.at, `undefined field '${entry.field}'`);
      else if (!this.assignable(field, given)) {
        const mismatch = `'${this.display(field)}' but provided type is '${this.display(given)}'`;
        this.issue(entry.at, `expected type of field '${entry.field}' is ${mismatch}`);
      }
    }
    return type;
  }

  private comprehension(node: ComprehensionNode, scope: TypeScope | undefined): CelType {
    const range = substitute(this.mapping, this.check(node.range, scope));
    const accumulator = this.check(node.initial, scope);
    const [first, second] = this.ranged(node, range);
    const folding: TypeScope = { names: new Map([[node.accumulator, accumulator]]), outer: scope };
    const names = new Map([[node.variable, first]]);
    if (node.second !== undefined) names.set(node.second, second);
    const looping: TypeScope = { names, outer: folding };
    const condition = this.check(node.condition, looping);
    if (!this.assignable(bool, condition)) this.mismatch(node.condition.at, bool, condition);
    const step = this.check(node.step, looping);
    if (!this.assignable(accumulator, step)) this.mismatch(node.step.at, accumulator, step);
    return substitute(this.mapping, this.check(node.result, folding));
  }

  /** Types of one variable (element or key) or two (index or key, and value). */
  private ranged(node: ComprehensionNode, range: CelType): readonly [CelType, CelType] {
    const both = node.second !== undefined;
    switch (range.kind) {
      case "list":
        return both ? [int, parameterOf(range)] : [parameterOf(range), dyn];
      case "map":
        return [parameterOf(range), parameterOf(range, 1)];
      case "parameter":
        this.assignable(dyn, range);
        return [dyn, dyn];
      case "dyn":
      case "error":
        return [dyn, dyn];
      default: {
        const words = "cannot be range of a comprehension (must be list, map, or dynamic)";
        this.issue(node.range.at, `expression of type '${this.display(range)}' ${words}`);
        return [errorType, errorType];
      }
    }
  }
}

interface Given {
  readonly nodes: readonly Expression[];
  readonly types: readonly CelType[];
  readonly member: boolean;
}

function isLocal(name: string, scope: TypeScope): boolean {
  for (let inner: TypeScope | undefined = scope; inner !== undefined; inner = inner.outer) {
    if (inner.names.has(name)) return true;
  }
  return false;
}
