/**
 * Parser. For common mistakes, error messages, positions and recovery are those of cel-go's ANTLR
 * parser; after others parsing stops.
 */
import { call, type Expression, identifier, literal } from "./ast.ts";
import { LiteralFault, doubleLiteral, intLiteral, literalOf } from "./literals.ts";
import type { Token } from "./lexer.ts";
import { expandMacro, MacroFault, type MacroOptions } from "./macros.ts";
import { type CompileIssue, codePoints, Source } from "./source.ts";
import { ParseAborted, TokenStream } from "./token-stream.ts";
import { parseList, parseMap, parseStruct } from "./parse-aggregates.ts";
import {
  binaryOperators,
  expectedArgument,
  expectedIndex,
  isReserved,
  operatorNames,
} from "./grammar.ts";

const maxDepth = 250;
const maxLength = 100_000;

export interface Parsed {
  readonly source: Source;
  readonly expression: Expression | undefined;
  readonly issues: readonly CompileIssue[];
}

/** Parses an expression; `expression` is present if there are no issues. */
export function parse(text: string, macros: MacroOptions = {}): Parsed {
  const source = new Source(text);
  const size = codePoints(text);
  if (size > maxLength) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${maxLength}`;
    return { source, expression: undefined, issues: [{ line: -1, column: -1, message }] };
  }
  const parser = new Parser(source, macros);
  const expression = parser.parseAll();
  return {
    source,
    expression: parser.issues.length === 0 ? expression : undefined,
    issues: parser.issues,
  };
}

class Parser extends TokenStream {
  private depth = 0;

  constructor(
    source: Source,
    private readonly macros: MacroOptions,
  ) {
    super(source);
  }

  parseAll(): Expression | undefined {
    try {
      const expression = this.expression();
      this.finish();
      return expression;
    } catch (error) {
      if (error instanceof ParseAborted) return undefined;
      throw error;
    }
  }

  private finish(): void {
    const { token } = this;
    if (token.kind === "end") return;
    const extra = this.peek(1).kind === "end";
    this.syntaxError(
      `${extra ? "extraneous" : "mismatched"} input '${token.text}' expecting <EOF>`,
    );
  }

  private tooDeep(): never {
    const message = `expression recursion limit exceeded: ${maxDepth}`;
    this.issues.push({ line: -1, column: -1, message });
    throw new ParseAborted();
  }

  expression(): Expression {
    if (++this.depth > maxDepth) this.tooDeep();
    const condition = this.logical("||");
    const at = this.token.at;
    let result = condition;
    if (this.take("?")) {
      const yes = this.logical("||");
      this.match(":");
      const no = this.expression();
      result = call(at, "_?_:_", condition, yes, no);
    }
    this.depth--;
    return result;
  }

  /** Parses chains of `||` and `&&` into balanced trees, which limits their depth. */
  private logical(operator: "||" | "&&"): Expression {
    const next = (): Expression => (operator === "||" ? this.logical("&&") : this.binary(0));
    const terms = [next()];
    const places: number[] = [];
    while (this.isSymbol(operator)) {
      places.push(this.advance().at);
      terms.push(next());
    }
    return balanced(operatorNames.get(operator) ?? operator, { terms, places });
  }

  /** Relations (level 0), sums (1), products (2), which are left-associative. */
  private binary(level: number): Expression {
    const operand = (): Expression => (level === 2 ? this.unary() : this.binary(level + 1));
    let left = operand();
    let chain = 0;
    while (binaryOperators.get(this.token.text) === level && this.isOperatorToken()) {
      if (++chain + this.depth > maxDepth) this.tooDeep();
      const operator = this.advance();
      const right = operand();
      left = call(operator.at, operatorNames.get(operator.text) ?? operator.text, left, right);
    }
    return left;
  }

  private isOperatorToken(): boolean {
    return this.token.kind === "symbol" || this.token.kind === "keyword";
  }

  private unary(): Expression {
    const { token } = this;
    if (!this.isSymbol("!") && !this.isSymbol("-")) return this.member();
    const next = this.peek(1);
    if (token.text === "-" && (next.kind === "int" || next.kind === "float")) return this.member();
    let count = 0;
    while (this.isSymbol(token.text)) {
      this.advance();
      count++;
    }
    if (this.depth + 1 > maxDepth) this.tooDeep();
    const operand = this.member();
    if (count % 2 === 0) return operand;
    return call(token.at, token.text === "!" ? "!_" : "-_", operand);
  }

  private member(): Expression {
    let node = this.primary();
    let chain = 0;
    for (;;) {
      if (++chain + this.depth > maxDepth) this.tooDeep();
      const at = this.token.at;
      if (this.take(".")) {
        const selected = this.selection(node, at);
        if (selected === undefined) return node;
        node = selected;
      } else if (this.take("[")) {
        this.expect(expectedIndex);
        const optional = this.take("?");
        const key = this.expression();
        this.match("]");
        node = call(at, optional ? "_[?_]" : "_[_]", node, key);
      } else {
        return node;
      }
    }
  }

  /** Parses the selection after a dot; undefined after an error from which it recovered. */
  private selection(operand: Expression, at: number): Expression | undefined {
    const optional = this.take("?");
    const { token } = this;
    if (token.kind !== "identifier" && token.kind !== "escaped") {
      const keyword = token.kind === "keyword" && token.text !== "in";
      if (keyword || optional) {
        this.syntaxError(`mismatched input '${token.text}' expecting IDENTIFIER`);
      } else {
        this.syntaxError(`no viable alternative at input '${this.textBefore(".", token)}'`);
      }
      return this.skipToOperator() ? literal(operand.at, { type: "null" }) : undefined;
    }
    this.advance();
    const field = this.fieldName(token);
    if (optional) {
      const name = literal(token.at, { type: "string", value: field });
      return call(at, "_?._", operand, name);
    }
    if (token.kind === "identifier" && this.isSymbol("(")) return this.callOf(token, operand);
    return { kind: "select", at, operand, field, test: false };
  }

  /** A field name; names in backquotes are not supported in this version of CEL. */
  private fieldName(token: Token): string {
    if (token.kind === "escaped") this.report(token.at, "unsupported syntax: '`'");
    return token.text;
  }

  /** Skips to a token that can follow an operand; returns false at the end of the text. */
  private skipToOperator(): boolean {
    while (this.token.kind !== "end" && !endsOperand(this.token)) this.index++;
    return this.token.kind !== "end";
  }

  private callOf(name: Token, target: Expression | undefined, rooted = false): Expression {
    const at = this.advance().at;
    const args: Expression[] = [];
    if (!this.isSymbol(")")) {
      this.expect(expectedArgument);
      do args.push(this.expression());
      while (this.take(","));
    }
    this.match(")");
    const text = rooted ? `.${name.text}` : name.text;
    try {
      const node = { at, name: text, target, arguments: args };
      return expandMacro(node, this.macros) ?? { kind: "call", ...node };
    } catch (error) {
      if (!(error instanceof MacroFault)) throw error;
      this.report(error.at, error.message);
      return literal(at, { type: "null" });
    }
  }

  private primary(): Expression {
    const { token } = this;
    if (token.kind === "identifier" || this.isSymbol(".")) return this.named();
    if (this.take("(")) {
      const inner = this.expression();
      this.match(")");
      return inner;
    }
    if (this.take("[")) return parseList(this, token.at);
    if (this.take("{")) return parseMap(this, token.at);
    if (this.startsLiteral()) return this.literal();
    return this.misplaced();
  }

  /** Recovers from a token that cannot start an operand: skips it if the next one can. */
  private misplaced(): Expression {
    const { token, expected } = this;
    if (token.kind !== "end" && this.startsOperand(1)) {
      this.syntaxError(`extraneous input '${token.text}' expecting ${expected}`);
      this.index++;
      return this.unary();
    }
    this.syntaxError(`mismatched input '${token.text}' expecting ${expected}`);
    const goesOn = token.kind === "end" || binaryOperators.has(token.text) || token.text === "?";
    if (!goesOn) throw new ParseAborted();
    return literal(token.at, { type: "null" });
  }

  private startsLiteral(): boolean {
    const { token } = this;
    if (token.kind === "symbol") return token.text === "-";
    return token.kind !== "escaped" && token.kind !== "end" && token.text !== "in";
  }

  private literal(): Expression {
    const first = this.advance();
    try {
      if (first.text !== "-" || first.kind !== "symbol") return literal(first.at, literalOf(first));
      const number = this.advance();
      const value =
        number.kind === "int" ? intLiteral(number.text, true) : doubleLiteral(number.text, true);
      return literal(first.at, value);
    } catch (error) {
      if (!(error instanceof LiteralFault)) throw error;
      this.report(first.at, error.message);
      return literal(first.at, { type: "null" });
    }
  }

  /** A name, a call, or `a.b.Message{...}`. */
  private named(): Expression {
    const start = this.token;
    const rooted = this.take(".");
    const { token } = this;
    if (token.kind !== "identifier") {
      this.fail(`mismatched input '${token.text}' expecting IDENTIFIER`);
    }
    let dots = 0;
    while (this.isSymbol(".", 1 + dots) && this.peek(2 + dots).kind === "identifier") dots += 2;
    if (this.isSymbol("{", 1 + dots)) return parseStruct(this, dots, rooted);
    this.advance();
    if (this.isSymbol("(")) return this.callOf(token, undefined, rooted);
    if (isReserved(token.text)) this.report(start.at, `reserved identifier: ${token.text}`);
    return { ...identifier(start.at, token.text), rooted };
  }
}

function endsOperand({ kind, text }: Token): boolean {
  if (kind === "keyword") return text === "in";
  const isOperator =
    binaryOperators.has(text) || [".", "[", ")", "]", "}", ",", "?"].includes(text);
  return kind === "symbol" && (isOperator || text === ":");
}

interface Chain {
  readonly terms: readonly Expression[];
  readonly places: readonly number[];
}

function balanced(name: string, { terms, places }: Chain): Expression {
  const build = (low: number, high: number): Expression => {
    if (low === high) return terms[low] ?? literal(0, { type: "null" });
    // The operator between `middle` and `middle + 1` is the root.
    const middle = Math.floor((low + high) / 2);
    return call(places[middle] ?? 0, name, build(low, middle), build(middle + 1, high));
  };
  return build(0, terms.length - 1);
}
