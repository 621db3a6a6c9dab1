import {
  type Piece,
  type Script,
  SyntaxFault,
  type VariableOperator,
  type Word,
} from "./syntax.ts";

/** Maximum nesting of substitutions. */
const maxDepth = 8;
const nameStart = /[A-Za-z_]/;
const nameRest = /[A-Za-z0-9_]/;
const special = "?$#@*!-0123456789";

/** Parser of scripts, for command substitutions. */
export type ScriptReader = (text: string, depth: number) => Script;

/** Source text of a script with a position. */
export class Source {
  at = 0;
  constructor(
    readonly text: string,
    readonly depth: number,
  ) {
    if (depth > maxDepth) throw new SyntaxFault("nested too deeply");
  }

  get next(): string {
    return this.text[this.at] ?? "";
  }

  has(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  /** Consumes a text if it is next. */
  take(text: string): boolean {
    const isNext = this.has(text);
    if (isNext) this.at += text.length;
    return isNext;
  }

  takeWhile(isWanted: (character: string) => boolean): string {
    const start = this.at;
    while (this.at < this.text.length && isWanted(this.next)) this.at++;
    return this.text.slice(start, this.at);
  }
}

/** Reads words with their quotes and substitutions. */
export class WordReader {
  constructor(
    private readonly source: Source,
    private readonly readScript: ScriptReader,
  ) {}

  /** Reads the word up to a terminating character; no pieces = no word. */
  read(isEnd: (character: string) => boolean): Word {
    const { source } = this;
    const pieces: Piece[] = [];
    while (source.next !== "" && !isEnd(source.next)) {
      if (source.take("'")) pieces.push(this.singleQuoted());
      else if (source.take('"')) pieces.push(...this.doubleQuoted());
      else if (source.take("\\")) {
        const text = source.next;
        source.at++;
        if (text !== "\n") pieces.push({ kind: "text", text, isQuoted: true });
      } else pieces.push(this.plain(isEnd));
    }
    return pieces;
  }

  private plain(isEnd: (character: string) => boolean): Piece {
    const substitution = this.substitution(false);
    if (substitution !== undefined) return substitution;
    const text = this.source.takeWhile((each) => !isEnd(each) && !"'\"\\$`".includes(each));
    if (text === "") this.source.at++;
    return { kind: "text", text: text === "" ? "$" : text, isQuoted: false };
  }

  private singleQuoted(): Piece {
    const text = this.source.takeWhile((each) => each !== "'");
    if (!this.source.take("'")) throw new SyntaxFault("unterminated quoted string");
    return { kind: "text", text, isQuoted: true };
  }

  private doubleQuoted(): readonly Piece[] {
    const { source } = this;
    const pieces: Piece[] = [{ kind: "text", text: "", isQuoted: true }];
    while (!source.take('"')) {
      if (source.next === "") throw new SyntaxFault("unterminated quoted string");
      const substitution = this.substitution(true);
      if (substitution !== undefined) {
        pieces.push(substitution);
        continue;
      }
      let text = source.takeWhile((each) => !'"\\$`'.includes(each));
      if (text === "" && source.take("\\")) {
        const isEscape = '"\\$`\n'.includes(source.next);
        text = (isEscape ? "" : "\\") + (source.next === "\n" ? "" : source.next);
        source.at++;
      } else if (text === "") {
        text = source.next;
        source.at++;
      }
      pieces.push({ kind: "text", text, isQuoted: true });
    }
    return pieces;
  }

  /** `$NAME`, `${…}`, `$(…)`, `$((…))` or backquotes, if one of these is next. */
  private substitution(isQuoted: boolean): Piece | undefined {
    const { source } = this;
    if (source.take("`")) {
      const text = source.takeWhile((each) => each !== "`");
      if (!source.take("`")) throw new SyntaxFault("unterminated substitution");
      return { kind: "command", script: this.readScript(text, source.depth + 1), isQuoted };
    }
    if (source.next !== "$") return undefined;
    if (source.has("$((")) return this.arithmetic(isQuoted);
    if (source.take("$(")) {
      const script = this.readScript(this.untilClosed("(", ")"), source.depth + 1);
      return { kind: "command", script, isQuoted };
    }
    if (source.take("${")) return this.braced(isQuoted);
    const after = source.text[source.at + 1] ?? "";
    if (!nameStart.test(after) && (after === "" || !special.includes(after))) return undefined;
    source.at++;
    const isName = nameStart.test(after);
    const name = isName ? source.takeWhile((each) => nameRest.test(each)) : after;
    if (!isName) source.at++;
    return { kind: "variable", name, isQuoted };
  }

  private arithmetic(isQuoted: boolean): Piece {
    this.source.at += 3;
    const text = this.untilClosed("(", ")");
    if (!this.source.take(")")) throw new SyntaxFault("missing '))'");
    const inner = new Source(text, this.source.depth + 1);
    const expression = new WordReader(inner, this.readScript).read(() => false);
    return { kind: "arithmetic", expression, isQuoted };
  }

  private braced(isQuoted: boolean): Piece {
    const inner = new Source(this.untilClosed("{", "}"), this.source.depth + 1);
    const name = inner.takeWhile((each) => nameRest.test(each)) || inner.takeWhile(() => true);
    const emptyIsUnset = inner.take(":");
    const sign = inner.next;
    if (sign === "" && !emptyIsUnset && (nameStart.test(name) || special.includes(name))) {
      return { kind: "variable", name, isQuoted };
    }
    if (sign !== "-" && sign !== "+" && sign !== "=" && sign !== "?") {
      throw new SyntaxFault(`the expansion \${${inner.text}} is not simulated`);
    }
    inner.at++;
    const word = new WordReader(inner, this.readScript).read(() => false);
    const operator: VariableOperator = { sign, emptyIsUnset, word };
    return { kind: "variable", name, operator, isQuoted };
  }

  /** Consumes the text up to and including the matching closing character. */
  private untilClosed(open: string, close: string): string {
    const { source } = this;
    const start = source.at;
    let depth = 1;
    let quote = "";
    for (; source.at < source.text.length; source.at++) {
      const { next } = source;
      if (quote !== "") {
        if (next === quote) quote = "";
        else if (next === "\\" && quote === '"') source.at++;
      } else if (next === "'" || next === '"') quote = next;
      else if (next === "\\") source.at++;
      else if (next === open) depth++;
      else if (next === close && --depth === 0) return source.text.slice(start, source.at++);
    }
    throw new SyntaxFault(`missing '${close}'`);
  }
}
