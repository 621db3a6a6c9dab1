import { builtins, operate } from "./functions.ts";
import {
  CostFault,
  elementOf,
  elementsOf,
  type Filter,
  isTrue,
  metered,
  Run,
  RunFault,
} from "./run.ts";
import { QueryFault, type Token, tokenize } from "./tokens.ts";

/** Maximum length of a query. */
const maxQueryLength = 4_096;
const deepest = 64;

/** A query in the subset of jq that Stages use: paths, pipes, comparisons, `select` and the like. */
export class Query {
  private readonly filter: Filter;

  /** @throws QueryFault for an invalid or unsupported query */
  constructor(readonly text: string) {
    if (text.length > maxQueryLength) throw new QueryFault("query is too long");
    this.filter = new Parser(tokenize(text)).parse();
  }

  /** Results of the query without nulls; undefined = it failed. */
  execute(object: unknown): readonly unknown[] | undefined {
    try {
      const found = this.filter(object, new Run());
      return found.filter((value) => value !== null && value !== undefined);
    } catch (error) {
      if (error instanceof RunFault) return undefined;
      throw error;
    }
  }
}

/** Binary operators from the loosest to the tightest, between `,` and the postfix operators. */
const levels: readonly (readonly string[])[] = [
  ["//"],
  ["or"],
  ["and"],
  ["==", "!=", "<", "<=", ">", ">="],
  ["+", "-"],
  ["*", "/", "%"],
];

class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  parse(): Filter {
    const filter = this.pipe();
    if (this.token.kind !== "end") throw this.unexpected();
    return filter;
  }

  private get token(): Token {
    return this.tokens[this.at]!;
  }

  private is(text: string): boolean {
    const { kind, text: own } = this.token;
    return (kind === "symbol" || kind === "word") && own === text;
  }

  private take(text: string): boolean {
    if (!this.is(text)) return false;
    this.at++;
    return true;
  }

  private expect(text: string): void {
    if (!this.take(text)) throw this.unexpected();
  }

  private unexpected(): QueryFault {
    const { kind, text } = this.token;
    return new QueryFault(kind === "end" ? "unexpected end" : `unexpected ${JSON.stringify(text)}`);
  }

  private pipe(): Filter {
    if (++this.depth > deepest) throw new QueryFault("query is nested too deeply");
    let filter = this.comma();
    while (this.take("|")) {
      const [before, after] = [filter, this.comma()];
      filter = metered((input, run) => before(input, run).flatMap((value) => after(value, run)));
    }
    this.depth--;
    return filter;
  }

  private comma(): Filter {
    let filter = this.binary(0);
    while (this.take(",")) {
      const [first, second] = [filter, this.binary(0)];
      filter = metered((input, run) => [...first(input, run), ...second(input, run)]);
    }
    return filter;
  }

  private binary(level: number): Filter {
    const operators = levels[level];
    if (operators === undefined) return this.postfix();
    let filter = this.binary(level + 1);
    for (;;) {
      const operator = operators.find((each) => this.is(each));
      if (operator === undefined) return filter;
      this.at++;
      filter = metered(combine(operator, filter, this.binary(level + 1)));
    }
  }

  private postfix(): Filter {
    let filter = this.term();
    for (;;) {
      if (this.token.kind === "field") filter = path(filter, constant(this.name()));
      else if (this.take(".")) filter = this.afterDot(filter);
      else if (this.take("[")) filter = this.bracket(filter);
      else if (this.take("?")) filter = optional(filter);
      else return filter;
    }
  }

  /** Consumes the token and returns its text. */
  private name(): string {
    return this.tokens[this.at++]!.text;
  }

  /** Parses what follows a dot without a name: `."name"` and `.[…]`. */
  private afterDot(filter: Filter): Filter {
    if (this.token.kind === "string") return path(filter, constant(this.name()));
    this.expect("[");
    return this.bracket(filter);
  }

  private bracket(filter: Filter): Filter {
    if (this.take("]")) {
      return (input, run) => filter(input, run).flatMap((value) => counted(elementsOf(value), run));
    }
    const index = this.pipe();
    if (this.is(":")) throw new QueryFault("slices are not supported");
    this.expect("]");
    return path(filter, index);
  }

  private term(): Filter {
    const { kind, text } = this.token;
    if (kind === "field") return path(identity, constant(this.name()));
    if (kind === "string") return constant(this.name());
    if (kind === "number") return constant(Number(this.name()));
    if (kind === "word") return this.word();
    if (this.take("(")) return this.closed(this.pipe(), ")");
    if (this.take("-")) {
      const operand = this.postfix();
      return metered((input, run) => operand(input, run).map((value) => operate("-", 0, value)));
    }
    if (this.take("[")) {
      if (this.take("]")) return constant([]);
      const elements = this.closed(this.pipe(), "]");
      return (input, run) => [counted(elements(input, run), run)];
    }
    if (text !== "." || kind !== "symbol") throw this.unexpected();
    this.at++;
    const starts = this.token.kind === "string" || this.is("[");
    return starts ? this.afterDot(identity) : identity;
  }

  private closed(filter: Filter, bracket: string): Filter {
    this.expect(bracket);
    return filter;
  }

  private word(): Filter {
    const name = this.name();
    if (name === "true" || name === "false") return constant(name === "true");
    if (name === "null") return constant(null);
    const args: Filter[] = [];
    if (this.take("(")) args.push(this.closed(this.pipe(), ")"));
    const key = `${name}/${args.length}`;
    const make = Object.hasOwn(builtins, key) ? builtins[key] : undefined;
    if (make === undefined) throw new QueryFault(`function not supported: ${key}`);
    return metered(make(args));
  }
}

const identity: Filter = (input) => [input];

function constant(value: unknown): Filter {
  return () => [value];
}

function counted(values: readonly unknown[], run: Run): readonly unknown[] {
  run.step(values.length + 1);
  return values;
}

/** `filter[index]`; the index is a query on the whole input. */
function path(filter: Filter, index: Filter): Filter {
  return metered((input, run) => {
    const indexes = index(input, run);
    return filter(input, run).flatMap((value) => {
      run.step(indexes.length);
      return indexes.map((each) => elementOf(value, each));
    });
  });
}

function optional(filter: Filter): Filter {
  return (input, run) => {
    try {
      return filter(input, run);
    } catch (error) {
      if (error instanceof RunFault && !(error instanceof CostFault)) return [];
      throw error;
    }
  };
}

function combine(operator: string, left: Filter, right: Filter): Filter {
  if (operator === "//") {
    return (input, run) => {
      const found = optional(left)(input, run).filter(isTrue);
      return found.length > 0 ? found : right(input, run);
    };
  }
  if (operator === "and" || operator === "or") {
    const decisive = operator === "or";
    return (input, run) =>
      left(input, run).flatMap((value) =>
        isTrue(value) === decisive ? [decisive] : right(input, run).map(isTrue),
      );
  }
  return (input, run) => {
    const rights = right(input, run);
    return left(input, run).flatMap((value) => {
      run.step(rights.length);
      return rights.map((other) => {
        run.walk(value, other);
        return operate(operator, value, other);
      });
    });
  };
}
