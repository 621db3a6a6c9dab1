/** Abstract syntax tree with expanded macros, to which the cost rules apply. */

export type Literal =
  | { readonly type: "null" }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int"; readonly value: bigint }
  | { readonly type: "uint"; readonly value: bigint }
  | { readonly type: "double"; readonly value: number }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "bytes"; readonly value: Uint8Array };

interface Node {
  /** Offset in the text for errors about this node. */
  readonly at: number;
}

export interface LiteralNode extends Node {
  readonly kind: "literal";
  readonly literal: Literal;
}
export interface IdentifierNode extends Node {
  readonly kind: "identifier";
  /** Whether the name has a leading `.`, which bypasses comprehension variables. */
  readonly name: string;
  readonly rooted: boolean;
}
export interface SelectNode extends Node {
  readonly kind: "select";
  readonly operand: Expression;
  readonly field: string;
  /** Whether it tests for presence: `has(a.b)`. */
  readonly test: boolean;
}
export interface CallNode extends Node {
  readonly kind: "call";
  readonly name: string;
  readonly target: Expression | undefined;
  readonly arguments: readonly Expression[];
}
export interface ListNode extends Node {
  readonly kind: "list";
  readonly elements: readonly { readonly value: Expression; readonly optional: boolean }[];
}
export interface MapEntryNode {
  readonly at: number;
  readonly key: Expression;
  readonly value: Expression;
  readonly optional: boolean;
}
export interface MapNode extends Node {
  readonly kind: "map";
  readonly entries: readonly MapEntryNode[];
}
export interface FieldEntryNode {
  readonly at: number;
  readonly field: string;
  readonly value: Expression;
  readonly optional: boolean;
}
export interface StructNode extends Node {
  readonly kind: "struct";
  readonly name: string;
  readonly fields: readonly FieldEntryNode[];
}
/**
 * A fold: `accumulator` starts as `initial` and is set to `step` for each element of the range while
 * `condition` is true; the value is `result`.
 */
export interface ComprehensionNode extends Node {
  readonly kind: "comprehension";
  readonly range: Expression;
  readonly variable: string;
  /** Second variable, for the value; the first one is then the index or key. */
  readonly second: string | undefined;
  readonly accumulator: string;
  readonly initial: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

export type Expression =
  | LiteralNode
  | IdentifierNode
  | SelectNode
  | CallNode
  | ListNode
  | MapNode
  | StructNode
  | ComprehensionNode;

export function call(at: number, name: string, ...args: readonly Expression[]): CallNode {
  return { kind: "call", at, name, target: undefined, arguments: args };
}

export function identifier(at: number, name: string): IdentifierNode {
  return { kind: "identifier", at, name, rooted: false };
}

export function literal(at: number, value: Literal): LiteralNode {
  return { kind: "literal", at, literal: value };
}

/** The text `a.b.c` if the node is a chain of field selections from an identifier. */
export function qualifiedName(node: Expression): string | undefined {
  if (node.kind === "identifier") return node.name;
  if (node.kind !== "select" || node.test) return undefined;
  const operand = qualifiedName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}

/** The child nodes in the order of the expanded source. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case "literal":
    case "identifier":
      return [];
    case "select":
      return [node.operand];
    case "call":
      return node.target === undefined ? node.arguments : [node.target, ...node.arguments];
    case "list":
      return node.elements.map(({ value }) => value);
    case "map":
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return node.fields.map(({ value }) => value);
    case "comprehension":
      return [node.range, node.initial, node.condition, node.step, node.result];
  }
}
