import {
  type AndOr,
  type Command,
  type Compound,
  type Pipeline,
  type Redirect,
  type Script,
  type SimpleCommand,
  SyntaxFault,
  type Word,
} from "./syntax.ts";
import { Source, WordReader } from "./words.ts";

/** Maximum length of a script. */
const maxScriptLength = 8_192;
/** Maximum nesting of compound commands. */
const maxDepth = 32;

const blank = /[ \t]/;
const endsWord = (character: string) => " \t\n;&|<>()".includes(character);
const keywords = new Set(["then", "else", "elif", "fi", "do", "done", "}", ")"]);
const notSimulated = new Set(["case", "function", "select", "time", "coproc", "[[["]);

/** @throws SyntaxFault */
export function parseScript(text: string, depth = 0): Script {
  if (text.length > maxScriptLength) throw new SyntaxFault("too long");
  const source = new Source(text, depth);
  const script = new Parser(source).script([]);
  if (source.next !== "") throw new SyntaxFault(`unexpected "${source.next}"`);
  return script;
}

class Parser {
  private readonly words: WordReader;
  private depth = 0;

  constructor(private readonly source: Source) {
    this.words = new WordReader(source, parseScript);
  }

  /** Parses commands up to one of the keywords, which is not consumed, or to the end. */
  script(ends: readonly string[]): Script {
    if (++this.depth > maxDepth) throw new SyntaxFault("nested too deeply");
    const list: AndOr[] = [];
    for (;;) {
      this.skipSeparators();
      const keyword = this.keyword();
      if (ends.includes(keyword)) break;
      if (keywords.has(keyword)) throw new SyntaxFault(`unexpected "${keyword}"`);
      if (this.source.next === "") {
        if (ends.length > 0) throw new SyntaxFault(`missing "${ends[0]}"`);
        break;
      }
      list.push(this.andOr());
    }
    this.depth--;
    return list;
  }

  private andOr(): AndOr {
    const first = this.pipeline();
    const rest: { operator: "&&" | "||"; pipeline: Pipeline }[] = [];
    for (;;) {
      this.skipBlanks();
      const operator = this.source.has("&&") ? "&&" : this.source.has("||") ? "||" : undefined;
      if (operator === undefined) break;
      this.source.at += 2;
      this.skipSeparators("\n");
      rest.push({ operator, pipeline: this.pipeline() });
    }
    if (this.source.next === "&")
      throw new SyntaxFault("commands in the background are not simulated");
    return { first, rest };
  }

  private pipeline(): Pipeline {
    this.skipBlanks();
    const isNegated = this.keyword() === "!" && this.source.take("!");
    const commands = [this.command()];
    for (;;) {
      this.skipBlanks();
      if (this.source.next !== "|" || this.source.has("||")) break;
      this.source.at++;
      this.skipSeparators("\n");
      commands.push(this.command());
    }
    return { isNegated, commands };
  }

  private command(): Command {
    this.skipBlanks();
    const body = this.compound();
    if (body === undefined) return this.simple();
    const redirects: Redirect[] = [];
    for (let next = this.redirect(); next !== undefined; next = this.redirect())
      redirects.push(next);
    return { kind: "compound", body, redirects };
  }

  private compound(): Compound | undefined {
    if (this.source.take("(")) return this.group(")", true);
    const keyword = this.keyword();
    if (notSimulated.has(keyword)) throw new SyntaxFault(`"${keyword}" is not simulated`);
    switch (keyword) {
      case "{":
        this.expect("{");
        return this.group("}", false);
      case "if":
        return this.conditional();
      case "while":
      case "until": {
        this.expect(keyword);
        const condition = this.script(["do"]);
        const goesOnIf = keyword === "while" ? "success" : "failure";
        return { kind: "loop", condition, script: this.doBlock(), goesOnIf };
      }
      case "for":
        return this.forLoop();
      default:
        return undefined;
    }
  }

  private group(end: string, isSubshell: boolean): Compound {
    const script = this.script([end]);
    this.expect(end);
    return { kind: "group", script, isSubshell };
  }

  private conditional(): Compound {
    const branches: { condition: Script; script: Script }[] = [];
    let otherwise: Script | undefined;
    for (let keyword = "if"; keyword !== "fi"; keyword = this.keyword()) {
      this.expect(keyword);
      if (keyword === "else") {
        otherwise = this.script(["fi"]);
        continue;
      }
      const condition = this.script(["then"]);
      this.expect("then");
      branches.push({ condition, script: this.script(["elif", "else", "fi"]) });
    }
    this.expect("fi");
    return { kind: "if", branches, otherwise };
  }

  private forLoop(): Compound {
    this.expect("for");
    this.skipBlanks();
    const name = this.source.takeWhile((each) => /\w/.test(each));
    this.skipBlanks();
    this.expect("in");
    const words: Word[] = [];
    for (let word = this.word(); word.length > 0; word = this.word()) words.push(word);
    this.skipSeparators();
    return { kind: "for", name, words, script: this.doBlock() };
  }

  private doBlock(): Script {
    this.expect("do");
    const script = this.script(["done"]);
    this.expect("done");
    return script;
  }

  private simple(): SimpleCommand {
    const assignments: { name: string; value: Word }[] = [];
    const words: Word[] = [];
    const redirects: Redirect[] = [];
    for (;;) {
      const redirect = this.redirect();
      if (redirect !== undefined) {
        redirects.push(redirect);
        continue;
      }
      const [, name] =
        words.length > 0
          ? []
          : (/^([A-Za-z_]\w*)=/.exec(
              this.source.text.slice(this.source.at, this.source.at + 256),
            ) ?? []);
      if (name !== undefined) {
        this.source.at += name.length + 1;
        assignments.push({ name, value: this.words.read(endsWord) });
        continue;
      }
      const word = this.word();
      if (word.length === 0) break;
      words.push(word);
    }
    if (this.source.next === "(") throw new SyntaxFault("functions are not simulated");
    if (words.length + assignments.length + redirects.length === 0) {
      throw new SyntaxFault(`unexpected "${this.source.next}"`);
    }
    return { kind: "simple", assignments, words, redirects };
  }

  private redirect(): Redirect | undefined {
    this.skipBlanks();
    const [all = "", digit = "", sign = ""] =
      /^([012]?)(>>|>&|<<|>|<)/.exec(this.source.text.slice(this.source.at, this.source.at + 3)) ??
      [];
    if (all === "") return undefined;
    if (sign === "<<") throw new SyntaxFault("here-documents are not simulated");
    this.source.at += all.length;
    const operator = sign as Redirect["operator"];
    const target = this.word();
    if (target.length === 0) throw new SyntaxFault("a redirection without a file");
    const usual = operator === "<" ? 0 : 1;
    const descriptor = (digit === "" ? usual : Number(digit)) as Redirect["descriptor"];
    return { descriptor, operator, target };
  }

  private word(): Word {
    this.skipBlanks();
    if (this.source.next === "#") return [];
    return this.words.read(endsWord);
  }

  /** The next reserved word or sign, without consuming it. */
  private keyword(): string {
    const { text, at } = this.source;
    return (
      /^(?:[a-z[]+|[{})!])(?=[\s;&|()<>]|$)/.exec(text.slice(at, at + 16))?.[0] ?? this.closing
    );
  }

  private get closing(): string {
    return this.source.next === ")" ? ")" : "";
  }

  private expect(keyword: string): void {
    this.skipBlanks();
    if (!this.source.take(keyword)) throw new SyntaxFault(`missing "${keyword}"`);
  }

  private skipBlanks(): void {
    for (;;) {
      this.source.takeWhile((each) => blank.test(each));
      if (this.source.take("\\\n")) continue;
      if (this.source.next !== "#" || !this.isAtWordStart) return;
      this.source.takeWhile((each) => each !== "\n");
    }
  }

  private get isAtWordStart(): boolean {
    const { text, at } = this.source;
    return at === 0 || endsWord(text[at - 1]!);
  }

  private skipSeparators(signs = ";\n"): void {
    do this.skipBlanks();
    while (this.source.next !== "" && signs.includes(this.source.next) && ++this.source.at > 0);
  }
}
