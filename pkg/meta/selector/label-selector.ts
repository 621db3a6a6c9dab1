import { Path, Problems } from "#schema";
import { isLabelValue, isQualifiedName } from "../object/names.ts";
import type { LabelSelector as LabelSelectorObject } from "../object/object-meta.ts";
import { badRequest, problemText } from "../status/status-errors.ts";

/**
 * Label selectors: the text of a query (`app in (web,db),!tier`) and the object of a spec
 * (`matchLabels`, `matchExpressions`).
 */

type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without repeats. */
  readonly values: readonly string[];
}

interface LabelSelection {
  /** Sorted by key. */
  readonly requirements: readonly LabelRequirement[];
  /** Everything matches. */
  readonly empty: boolean;
  matches(labels: Readonly<Record<string, string>>): boolean;
  /** A text that parses to the same selection. */
  toString(): string;
}

/** Matches everything. */
export const everything: LabelSelection = selectionOf([]);

/** Matches nothing, as an absent LabelSelector does. */
export const nothing: LabelSelection = {
  requirements: [],
  empty: false,
  matches: () => false,
  toString: () => "",
};

/** Parses a label selector. @throws StatusError 400 */
export function parseLabelSelector(text: string): LabelSelection {
  if (text === "") return everything;
  return selectionOf(new Parser(tokensOf(text)).parse());
}

function selectionOf(unsorted: readonly LabelRequirement[]): LabelSelection {
  const requirements = [...unsorted].sort((a, b) => compare(a.key, b.key));
  return {
    requirements,
    empty: requirements.length === 0,
    matches: (labels) => requirements.every((requirement) => holds(requirement, labels)),
    toString: () => requirements.map(requirementText).join(","),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function holds(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
    case "lt": {
      const actual = integerOf(value ?? "");
      const bound = integerOf(values[0] ?? "");
      if (actual === undefined || bound === undefined) return false;
      return operator === "gt" ? actual > bound : actual < bound;
    }
  }
}

/** A 64-bit integer as Go's ParseInt reads it. */
function integerOf(text: string): bigint | undefined {
  if (!/^[-+]?[0-9]{1,100}$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : undefined;
}

function requirementText({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${values.join(",")})`;
    case "gt":
      return `${key}>${values[0] ?? ""}`;
    case "lt":
      return `${key}<${values[0] ?? ""}`;
    default:
      return `${key}${operator}${values[0] ?? ""}`;
  }
}

type Symbol = "(" | ")" | "," | "!" | "=" | "==" | "!=" | ">" | "<";

interface Token {
  readonly kind: Symbol | "in" | "notin" | "identifier" | "end";
  readonly text: string;
}

const endToken: Token = { kind: "end", text: "" };

/** Splits into symbols, the longest first, and words up to the next symbol or space. */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (const [found] of text.matchAll(/==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+/g)) {
    const isSymbol = /^[=!(),<>]/.test(found);
    const isKeyword = found === "in" || found === "notin";
    const kind = isSymbol ? (found as Symbol) : isKeyword ? found : "identifier";
    tokens.push({ kind, text: found });
  }
  return tokens;
}

const binaryOperators: ReadonlyMap<Token["kind"], LabelOperator> = new Map([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

/** Parser of the grammar, which has no nesting. */
class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  parse(): readonly LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const next = this.peek();
      if (next.kind === "end") return requirements;
      if (next.kind !== "identifier" && next.kind !== "!") {
        throw invalidSelector(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.requirement());
      const separator = this.take();
      if (separator.kind === "end") return requirements;
      if (separator.kind !== ",") {
        throw invalidSelector(`found '${separator.text}', expected: ',' or 'end of string'`);
      }
      const after = this.peek();
      if (after.kind !== "identifier" && after.kind !== "!") {
        throw invalidSelector(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  /** Where a value is expected, `in` and `notin` are values. */
  private peek(): Token {
    return asValue(this.tokens[this.at] ?? endToken);
  }

  private take(): Token {
    return asValue(this.takeRaw());
  }

  private takeRaw(): Token {
    const token = this.tokens[this.at] ?? endToken;
    this.at++;
    return token;
  }

  private requirement(): LabelRequirement {
    const first = this.take();
    const negated = first.kind === "!";
    const key = negated ? this.take() : first;
    if (key.kind !== "identifier") throw parseError(`found '${key.text}', expected: identifier`);
    const messages = isQualifiedName(key.text);
    if (messages.length > 0) throw parseError(problem("<nil>", key.text, messages.join("; ")));
    const next = this.peek();
    if (negated) return { key: key.text, operator: "!", values: [] };
    if (next.kind === "end" || next.kind === ",") {
      return { key: key.text, operator: "exists", values: [] };
    }
    const token = this.takeRaw();
    const operator = binaryOperators.get(token.kind);
    if (operator === undefined) {
      const expected = "in, notin, =, ==, !=, gt, lt";
      throw parseError(`found '${token.text}', expected: ${expected}`);
    }
    const isSet = operator === "in" || operator === "notin";
    const values = [...new Set(isSet ? this.values() : [this.exactValue()])].sort(compare);
    return validated({ key: key.text, operator, values });
  }

  private exactValue(): string {
    const next = this.peek();
    if (next.kind === "end" || next.kind === ",") return "";
    const token = this.take();
    if (token.kind === "identifier") return token.text;
    throw parseError(`found '${token.text}', expected: identifier`);
  }

  private values(): readonly string[] {
    const open = this.take();
    if (open.kind !== "(") throw parseError(`found '${open.text}' expected: '('`);
    const next = this.peek();
    if (next.kind === ")") {
      this.take();
      return [""];
    }
    if (next.kind !== "identifier" && next.kind !== ",") {
      throw parseError(`found '${next.text}', expected: ',', ')' or identifier`);
    }
    return this.list();
  }

  /** Up to and with the closing parenthesis; nothing between commas is the empty value. */
  private list(): readonly string[] {
    const values: string[] = [];
    for (;;) {
      const token = this.take();
      if (token.kind === "identifier") {
        values.push(token.text);
        const next = this.peek();
        if (next.kind === ",") continue;
        if (next.kind !== ")") throw parseError(`found '${next.text}', expected: ',' or ')'`);
        this.take();
        return values;
      }
      if (token.kind !== ",") {
        throw parseError(`found '${token.text}', expected: ',', or identifier`);
      }
      if (values.length === 0) values.push("");
      const next = this.peek();
      if (next.kind === ")") {
        this.take();
        return [...values, ""];
      }
      if (next.kind === ",") {
        this.take();
        values.push("");
      }
    }
  }
}

function asValue(token: Token): Token {
  const isKeyword = token.kind === "in" || token.kind === "notin";
  return isKeyword ? { kind: "identifier", text: token.text } : token;
}

/** Validates a requirement; several errors are combined in brackets. */
function validated(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  const problems: string[] = [];
  if (operator === "gt" || operator === "lt") {
    for (const [index, value] of values.entries()) {
      if (integerOf(value) !== undefined) continue;
      const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
      problems.push(problem(`values[${index}]`, value, detail));
    }
  }
  for (const [index, value] of values.entries()) {
    const messages = isLabelValue(value);
    if (messages.length === 0) continue;
    problems.push(problem(`values[${index}][${key}]`, value, messages.join("; ")));
  }
  if (problems.length === 0) return requirement;
  throw parseError(problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`);
}

function problem(field: string, value: string, detail: string): string {
  return `${field}: ${problemText({ type: "FieldValueInvalid", field, value, detail })}`;
}

function parseError(message: string): Error {
  return invalidSelector(`unable to parse requirement: ${message}`);
}

function invalidSelector(message: string): Error {
  return badRequest(message);
}

const objectOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

/**
 * The selection of a LabelSelector: absent selects nothing, empty everything. Expressions that
 * checkLabelSelector rejects are ignored.
 */
export function selectorFromLabelSelector(
  selector: LabelSelectorObject | undefined | null,
): LabelSelection {
  if (selector === undefined || selector === null) return nothing;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    requirements.push({ key, operator: "=", values: [value] });
  }
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const known = objectOperators.get(operator);
    if (known === undefined) continue;
    requirements.push({ key, operator: known, values: [...new Set(values ?? [])].sort(compare) });
  }
  return selectionOf(requirements);
}

/** Validates a LabelSelector, with errors in Kubernetes' order. */
export function checkLabelSelector(
  selector: LabelSelectorObject,
  path: Path,
  problems: Problems,
): void {
  const labels = selector.matchLabels ?? {};
  for (const key of Object.keys(labels).sort(compare)) {
    const at = path.child("matchLabels");
    for (const message of isQualifiedName(key)) problems.invalid(at, key, message);
    const value = labels[key] ?? "";
    for (const message of isLabelValue(value)) problems.invalid(at, value, message);
  }
  for (const [index, expression] of (selector.matchExpressions ?? []).entries()) {
    checkExpression(expression, path.child("matchExpressions").index(index), problems);
  }
}

function checkExpression(
  expression: NonNullable<LabelSelectorObject["matchExpressions"]>[number],
  path: Path,
  problems: Problems,
): void {
  const { key, operator } = expression;
  const values = expression.values ?? [];
  const at = path.child("values");
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) {
      problems.required(at, "must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      problems.forbidden(at, detail);
    }
  } else {
    problems.invalid(path.child("operator"), operator, "not a valid selector operator");
  }
  for (const message of isQualifiedName(key)) problems.invalid(path.child("key"), key, message);
  for (const [index, value] of values.entries()) {
    for (const message of isLabelValue(value)) problems.invalid(at.index(index), value, message);
  }
}
