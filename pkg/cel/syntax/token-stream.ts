/** The tokens of one expression, with ANTLR's error recovery. */
import type { Expression } from "./ast.ts";
import { binaryOperators } from "./grammar.ts";
import { type Token, tokenize } from "./lexer.ts";
import type { CompileIssue, Source } from "./source.ts";

const MOST_ISSUES = 30;

/** Stops the parser; the issues are already recorded. */
export class Abandoned extends Error {
  override readonly name = "Abandoned";
}

/** Tokens together with the grammar's entry rule, for rules that live in other files. */
export interface ExpressionReader extends TokenStream {
  expression(): Expression;
}

export class TokenStream {
  readonly issues: CompileIssue[] = [];
  protected index = 0;
  private readonly tokens: readonly Token[];
  /** Set from an error to the next token that fits: further errors are suppressed. */
  private recovering = false;

  constructor(private readonly source: Source) {
    const { tokens, faults } = tokenize(source.text);
    this.tokens = tokens;
    for (const fault of faults) {
      this.issues.push(source.issue(fault.at, `Syntax error: ${fault.message}`));
    }
  }

  get token(): Token {
    return this.peek(0);
  }

  peek(ahead: number): Token {
    const last = this.tokens.length - 1;
    return this.tokens[Math.min(this.index + ahead, last)] ?? { kind: "end", text: "", at: 0 };
  }

  isSymbol(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.text === text && (token.kind === "symbol" || token.kind === "keyword");
  }

  advance(): Token {
    const { token } = this;
    this.index++;
    this.recovering = false;
    return token;
  }

  /** Consumes the symbol if it is there. */
  take(text: string): boolean {
    if (!this.isSymbol(text)) return false;
    this.advance();
    return true;
  }

  /** Consumes the symbol, or reports in the way of the grammar's tool and goes on if it can. */
  match(text: string, expected = `'${text}'`): void {
    if (this.take(text)) return;
    const { token } = this;
    if (this.isSymbol(text, 1)) {
      this.syntaxError(`extraneous input '${token.text}' expecting ${expected}`);
      this.index++;
      this.advance();
      return;
    }
    const isMissing = text === ":" && this.startsOperand(0);
    if (isMissing) return this.syntaxError(`missing ':' at '${token.text}'`);
    if (text === ")" && (token.kind === "end" || binaryOperators.has(token.text))) {
      this.syntaxError(`missing ')' at '${token.text}'`);
      return;
    }
    this.fail(`mismatched input '${token.text}' expecting ${expected}`);
  }

  /** The text before a token with white space, and the token, as messages show them. */
  protected textBefore(before: string, { kind, at, text }: Token): string {
    if (kind === "end") return before;
    // What is no token does not show.
    const gap = /\s*$/.exec(this.source.text.slice(0, at))?.[0] ?? "";
    return before + gap + text;
  }

  syntaxError(message: string): void {
    if (!this.recovering) this.report(this.token.at, `Syntax error: ${message}`);
    this.recovering = true;
  }

  fail(message: string): never {
    this.syntaxError(message);
    throw new Abandoned();
  }

  report(at: number, message: string): void {
    this.issues.push(this.source.issue(at, message));
    if (this.issues.length >= MOST_ISSUES) throw new Abandoned();
  }

  startsOperand(ahead: number): boolean {
    const token = this.peek(ahead);
    if (token.kind === "symbol") return ["[", "{", "(", ".", "-", "!"].includes(token.text);
    return !(token.kind === "end" || token.kind === "escaped" || token.text === "in");
  }
}
