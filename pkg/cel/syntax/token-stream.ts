/** The tokens of one expression, with ANTLR's error recovery. */
import type { Expression } from "./ast.ts";
import { binaryOperators, expectedStart } from "./grammar.ts";
import { type Token, tokenize } from "./lexer.ts";
import type { CompileIssue, Source } from "./source.ts";

const maxIssues = 30;

/** Aborts parsing; the issues have been recorded. */
export class ParseAborted extends Error {
  override readonly name = "Abandoned";
}

/** Token stream with the grammar's entry rule, for rules in other files. */
export interface ExpressionReader extends TokenStream {
  expression(): Expression;
}

export class TokenStream {
  readonly issues: CompileIssue[] = [];
  protected index = 0;
  private readonly tokens: readonly Token[];
  /** Set from an error to the next matching token: further errors are suppressed. */
  private recovering = false;
  /** What is expected at a token other than what can start an operand. */
  private special: { readonly index: number; readonly tokens: string } | undefined;

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

  /** Sets the tokens that error messages list for the next token. */
  expect(tokens: string): void {
    this.special = { index: this.index, tokens };
  }

  /** The tokens expected here, where an operand must start. */
  protected get expected(): string {
    return this.special?.index === this.index ? this.special.tokens : expectedStart;
  }

  /** Consumes the symbol if it is the next token. */
  take(text: string): boolean {
    if (!this.isSymbol(text)) return false;
    this.advance();
    return true;
  }

  /** Consumes the symbol, or reports an error and recovers as ANTLR does. */
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
    if (token.kind === "end" && "]}".includes(text) && expected === `'${text}'`) {
      return this.syntaxError(`missing '${text}' at '${token.text}'`);
    }
    this.fail(`mismatched input '${token.text}' expecting ${expected}`);
  }

  /** The preceding text and the token, for error messages. */
  protected textBefore(before: string, { kind, at, text }: Token): string {
    if (kind === "end") return before;
    // Unrecognized characters are omitted.
    const gap = /\s*$/.exec(this.source.text.slice(0, at))?.[0] ?? "";
    return before + gap + text;
  }

  syntaxError(message: string): void {
    if (!this.recovering) this.report(this.token.at, `Syntax error: ${message}`);
    this.recovering = true;
  }

  fail(message: string): never {
    this.syntaxError(message);
    throw new ParseAborted();
  }

  report(at: number, message: string): void {
    this.issues.push(this.source.issue(at, message));
    if (this.issues.length >= maxIssues) throw new ParseAborted();
  }

  startsOperand(ahead: number): boolean {
    const token = this.peek(ahead);
    if (token.kind === "symbol") return ["[", "{", "(", ".", "-", "!"].includes(token.text);
    return !(token.kind === "end" || token.kind === "escaped" || token.text === "in");
  }
}
