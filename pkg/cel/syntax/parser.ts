/**
 * Reads an expression. Errors are worded, placed and recovered from as the grammar's reference
 * parser (ANTLR) does for the mistakes that people make; after stranger ones it stops.
 */
import { call, type Expression, identifier, literal } from "./ast.ts";
import { LiteralFault, doubleLiteral, intLiteral, literalOf } from "./literals.ts";
import type { Token } from "./lexer.ts";
import { expandMacro, MacroFault, type MacroOptions } from "./macros.ts";
import { type CompileIssue, codePoints, Source } from "./source.ts";
import { Abandoned, TokenStream } from "./token-stream.ts";
import { parseList, parseMap, parseStruct } from "./parse-aggregates.ts";
import { binaryOperators, expectedStart, isReserved, operatorNames } from "./grammar.ts";

const DEEPEST = 250;
const LONGEST = 100_000;

export interface Parsed {
  readonly source: Source;
  readonly expression: Expression | undefined;
  readonly issues: readonly CompileIssue[];
}

/** Reads a whole expression; `expression` is there when there are no issues. */
export function parse(text: string, macros: MacroOptions = {}): Parsed {
  const source = new Source(text);
  const size = codePoints(text);
  if (size > LONGEST) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${LONGEST}`;
    return { source, expression: undefined, issues: [{ line: -1, column: -1, message }] };
  }
  const parser = new Parser(source, macros);
  const expression = parser.whole();
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

  whole(): Expression | undefined {
    try {
      const expression = this.expression();
      this.finish();
      return expression;
    } catch (error) {
      if (error instanceof Abandoned) return undefined;
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
    const message = `expression recursion limit exceeded: ${DEEPEST}`;
    this.issues.push({ line: -1, column: -1, message });
    throw new Abandoned();
  }

  expression(): Expression {
    if (++this.depth > DEEPEST) this.tooDeep();
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

  /** Chains of `||` and `&&` become balanced trees, so that long ones stay shallow. */
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

  /** Relations (level 0), sums (1), products (2): all associate to the left. */
  private binary(level: number): Expression {
    const operand = (): Expression => (level === 2 ? this.unary() : this.binary(level + 1));
    let left = operand();
    let chain = 0;
    while (binaryOperators.get(this.token.text) === level && this.isOperatorToken()) {
      if (++chain + this.depth > DEEPEST) this.tooDeep();
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
    if (this.depth + 1 > DEEPEST) this.tooDeep();
    const operand = this.member();
    if (count % 2 === 0) return operand;
    return call(token.at, token.text === "!" ? "!_" : "-_", operand);
  }

  private member(): Expression {
    let node = this.primary();
    let chain = 0;
    for (;;) {
      if (++chain + this.depth > DEEPEST) this.tooDeep();
      const at = this.token.at;
      if (this.take(".")) {
        const selected = this.selection(node, at);
        if (selected === undefined) return node;
        node = selected;
      } else if (this.take("[")) {
        const optional = this.take("?");
        const key = this.expression();
        this.match("]");
        node = call(at, optional ? "_[?_]" : "_[_]", node, key);
      } else {
        return node;
      }
    }
  }

  /** What follows a dot; undefined where the text goes on after a mistake. */
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

  /** Names in backquotes are of later releases. */
  private fieldName(token: Token): string {
    if (token.kind === "escaped") this.report(token.at, "unsupported syntax: '`'");
    return token.text;
  }

  /** Goes on where an operand may end; false at the end of the text. */
  private skipToOperator(): boolean {
    while (this.token.kind !== "end" && !endsOperand(this.token)) this.index++;
    return this.token.kind !== "end";
  }

  private callOf(name: Token, target: Expression | undefined, rooted = false): Expression {
    const at = this.advance().at;
    const args: Expression[] = [];
    if (!this.isSymbol(")")) {
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

  /** A token that begins no operand: skipped if the next one does, else left to the operators. */
  private misplaced(): Expression {
    const { token } = this;
    if (token.kind !== "end" && this.startsOperand(1)) {
      this.syntaxError(`extraneous input '${token.text}' expecting ${expectedStart}`);
      this.index++;
      return this.unary();
    }
    this.syntaxError(`mismatched input '${token.text}' expecting ${expectedStart}`);
    const goesOn = token.kind === "end" || binaryOperators.has(token.text) || token.text === "?";
    if (!goesOn) throw new Abandoned();
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
