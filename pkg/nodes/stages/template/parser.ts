import { TemplateFault } from "./fault.ts";
import type { Branch, Command, Operand, Part, Pipe } from "./nodes.ts";
import { type Piece, piecesOf, type Token } from "./tokens.ts";

const deepest = 64;
const branches: ReadonlySet<string> = new Set(["if", "with", "range"]);
const unsupported: ReadonlySet<string> = new Set(["define", "template", "block"]);

/**
 * Parses a template.
 * @param functions names of the functions that it may call
 * @throws TemplateFault
 */
export function parseTemplate(text: string, functions: ReadonlySet<string>): readonly Part[] {
  return new Parser(piecesOf(text), functions).parse();
}

class Parser {
  private at = 0;
  private depth = 0;
  /** Declared variables, innermost scope last. */
  private scopes: string[][] = [["$"]];
  private ranges = 0;

  constructor(
    private readonly pieces: readonly Piece[],
    private readonly functions: ReadonlySet<string>,
  ) {}

  parse(): readonly Part[] {
    const { parts, end } = this.list();
    if (end !== undefined) throw new TemplateFault(`line ${end.line}: unexpected {{${end.word}}}`);
    return parts;
  }

  /** Parses the parts up to `end`, `else` or the end of the text. */
  private list(): { readonly parts: readonly Part[]; readonly end: ListEnd | undefined } {
    const parts: Part[] = [];
    while (this.at < this.pieces.length) {
      const piece = this.pieces[this.at++]!;
      if ("text" in piece) {
        parts.push({ type: "text", text: piece.text });
        continue;
      }
      const action = this.action(piece.tokens, piece.line);
      const { word } = action;
      if (word === "end" || word === "else") return { parts, end: { ...action, word } };
      parts.push(this.part(action));
    }
    return { parts, end: undefined };
  }

  private action(tokens: readonly Token[], line: number): Action {
    const reader = new ActionReader(tokens, line, this.functions);
    return { word: reader.keyword(), reader, line };
  }

  private part({ word, reader, line }: Action): Part {
    if (word === "break" || word === "continue") {
      if (this.ranges === 0) throw new TemplateFault(`line ${line}: {{${word}}} outside {{range}}`);
      reader.end();
      return { type: word };
    }
    if (unsupported.has(word))
      throw new TemplateFault(`line ${line}: {{${word}}} is not supported`);
    if (branches.has(word)) return this.branch(word as Branch["type"], { reader, line });
    return { type: "action", pipe: this.pipe(reader, false), line };
  }

  private branch(type: Branch["type"], { reader, line }: Pick<Action, "reader" | "line">): Branch {
    if (++this.depth > deepest) throw new TemplateFault(`line ${line}: template is too deep`);
    this.scopes.push([]);
    if (type === "range") this.ranges++;
    const pipe = this.pipe(reader, type === "range");
    const { parts: body, end } = this.list();
    if (type === "range") this.ranges--;
    const otherwise = this.otherwise(end, { type, line });
    this.scopes.pop();
    this.depth--;
    return { type, pipe, line, body, otherwise };
  }

  private otherwise(
    end: ListEnd | undefined,
    { type, line }: Pick<Branch, "type" | "line">,
  ): readonly Part[] {
    if (end === undefined) throw new TemplateFault(`line ${line}: {{${type}}} is not closed`);
    if (end.word === "end") {
      end.reader.end();
      return [];
    }
    const next = end.reader.keyword();
    if (next !== "" && next === type && type !== "range") return [this.branch(type, end)];
    end.reader.end();
    const { parts, end: last } = this.list();
    if (last?.word !== "end") throw new TemplateFault(`line ${line}: {{${type}}} is not closed`);
    last.reader.end();
    return parts;
  }

  private pipe(reader: ActionReader, isRange: boolean): Pipe {
    const pipe = reader.pipe({ isRange, isKnown: (name) => this.isKnown(name) });
    reader.end();
    const scope = this.scopes.at(-1)!;
    if (!pipe.assigns) scope.push(...pipe.variables);
    return pipe;
  }

  private isKnown(name: string): boolean {
    return name === "" || this.scopes.some((scope) => scope.includes(name));
  }
}

interface Action {
  /** Keyword at the start; "" = none. */
  readonly word: string;
  readonly reader: ActionReader;
  readonly line: number;
}

type ListEnd = Action & { readonly word: "end" | "else" };

interface PipeOptions {
  readonly isRange: boolean;
  readonly isKnown: (variable: string) => boolean;
}

const keywords: ReadonlySet<string> = new Set([
  ...branches,
  ...unsupported,
  "else",
  "end",
  "break",
  "continue",
]);
const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["nil", null],
]);

/** Reads the tokens of one action. */
class ActionReader {
  private at = 0;
  private depth = 0;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly line: number,
    private readonly functions: ReadonlySet<string>,
  ) {}

  /** Consumes and returns a keyword; "" = none. */
  keyword(): string {
    this.space();
    const { kind, text } = this.token;
    if (kind !== "word" || !keywords.has(text)) return "";
    this.at++;
    return text;
  }

  end(): void {
    this.space();
    if (this.token.kind !== "end") throw this.unexpected();
  }

  pipe({ isRange, isKnown }: PipeOptions): Pipe {
    if (++this.depth > deepest) throw new TemplateFault(`line ${this.line}: action is too deep`);
    const { variables, assigns } = this.declaration(isRange);
    if (assigns) for (const name of variables) this.requireKnown(name, isKnown);
    const commands = [this.command(isKnown)];
    while (this.takeSymbol("|")) commands.push(this.command(isKnown));
    for (const { operands } of commands.slice(1)) {
      if (operands[0]?.type !== "function") {
        throw new TemplateFault(
          `line ${this.line}: a pipe leads into a value that is not a function`,
        );
      }
    }
    this.depth--;
    return { variables, assigns, commands };
  }

  /** Parses `$a :=`, `$a =`, and in ranges `$a, $b :=`. */
  private declaration(isRange: boolean): Pick<Pipe, "variables" | "assigns"> {
    const start = this.at;
    this.space();
    const variables: string[] = [];
    while (this.token.kind === "variable") {
      variables.push(this.token.text);
      this.at++;
      if (this.takeSymbol(":=")) return { variables, assigns: false };
      if (this.takeSymbol("=")) return { variables, assigns: true };
      if (!isRange || variables.length > 1 || !this.takeSymbol(",")) break;
      this.space();
    }
    this.at = start;
    return { variables: [], assigns: false };
  }

  private command(isKnown: PipeOptions["isKnown"]): Command {
    const operands: Operand[] = [];
    for (;;) {
      this.space();
      const { kind, text } = this.token;
      if (kind === "end" || (kind === "symbol" && (text === "|" || text === ")"))) break;
      operands.push(this.operand(isKnown));
    }
    if (operands.length === 0) throw this.unexpected();
    if (operands.length > 1 && operands[0]!.type !== "function") {
      throw new TemplateFault(`line ${this.line}: arguments for a value that is not a function`);
    }
    return { operands };
  }

  private operand(isKnown: PipeOptions["isKnown"]): Operand {
    const { kind, text } = this.token;
    if (kind === "field") return { type: "chain", base: undefined, fields: this.fields() };
    this.at++;
    if (kind === "string") return { type: "constant", value: text };
    if (kind === "number") return { type: "constant", value: Number(text.replaceAll("_", "")) };
    if (kind === "variable") {
      this.requireKnown(text, isKnown);
      return { type: "chain", base: { variable: text }, fields: this.fields() };
    }
    if (kind === "word") return this.word(text);
    if (kind === "symbol" && text === ".") return { type: "chain", base: undefined, fields: [] };
    if (kind !== "symbol" || text !== "(") throw this.unexpected(-1);
    const pipe = this.pipe({ isRange: false, isKnown });
    if (pipe.variables.length > 0) throw this.unexpected(-1);
    if (!this.takeSymbol(")")) throw this.unexpected();
    return { type: "chain", base: { pipe }, fields: this.fields() };
  }

  private word(name: string): Operand {
    if (words.has(name)) return { type: "constant", value: words.get(name) };
    if (!this.functions.has(name)) {
      throw new TemplateFault(`line ${this.line}: function ${JSON.stringify(name)} not defined`);
    }
    return { type: "function", name };
  }

  private fields(): readonly string[] {
    const names: string[] = [];
    for (; this.token.kind === "field"; this.at++) names.push(this.token.text);
    return names;
  }

  private requireKnown(name: string, isKnown: PipeOptions["isKnown"]): void {
    if (!isKnown(name)) throw new TemplateFault(`line ${this.line}: undefined variable $${name}`);
  }

  private get token(): Token {
    return this.tokens[this.at]!;
  }

  private space(): void {
    while (this.token.kind === "space") this.at++;
  }

  /** Consumes a symbol and the space before it. */
  private takeSymbol(symbol: string): boolean {
    const start = this.at;
    this.space();
    if (this.token.kind === "symbol" && this.token.text === symbol) {
      this.at++;
      return true;
    }
    this.at = start;
    return false;
  }

  private unexpected(offset = 0): TemplateFault {
    const { kind, text } = this.tokens[this.at + offset]!;
    const shown = kind === "end" ? "end of the action" : JSON.stringify(text);
    return new TemplateFault(`line ${this.line}: unexpected ${shown}`);
  }
}
