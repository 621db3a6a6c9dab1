/**
 * What Go's regexp refuses of a pattern, in its words; undefined if nothing. Covers what patterns
 * written for other engines run into: look-around, backreferences, unclosed groups and classes,
 * misplaced repetition.
 */
export function regexpFault(pattern: string): string | undefined {
  const fault = new PatternReader(pattern).read();
  return fault === undefined ? undefined : `error parsing regexp: ${fault}`;
}

const MAX_REPEAT = 1000;

/** Classes, code points, quoted text, assertions and control characters. */
const knownEscape = new RegExp(
  String.raw`^\\(?:[pP](?:[A-Za-z]|\{\^?\w+\})|x[0-9a-fA-F]{2}|x\{[0-9a-fA-F]+\}` +
    String.raw`|Q[\s\S]*?(?:\\E|$)|0[0-7]{0,2}|[1-7][0-7]{1,2}|[AbBzdDsSwWafnrtvC]|[^\w\s]|\s)`,
);

class PatternReader {
  private at = 0;
  private open = 0;
  /** Whether there is something to repeat right before this place. */
  private isRepeatable = false;

  constructor(private readonly pattern: string) {}

  read(): string | undefined {
    while (this.at < this.pattern.length) {
      const fault = this.step();
      if (fault !== undefined) return fault;
    }
    return this.open > 0 ? `missing closing ): ${tick(this.pattern)}` : undefined;
  }

  private step(): string | undefined {
    const { pattern, at } = this;
    switch (pattern[at]) {
      case "\\":
        return this.escape();
      case "(":
        return this.group();
      case ")":
        this.open--;
        this.at++;
        this.isRepeatable = true;
        return this.open < 0 ? `unexpected ): ${tick(pattern)}` : undefined;
      case "[":
        return this.characterClass();
      case "*":
      case "+":
      case "?":
        return this.repeat(/^[*+?]\??/);
      case "{":
        if (/^\{\d+(,\d*)?\}/.test(pattern.slice(at))) return this.repeat(/^\{\d+(,\d*)?\}\??/);
        break;
      case "|":
        this.at++;
        this.isRepeatable = false;
        return undefined;
    }
    this.at++;
    this.isRepeatable = true;
    return undefined;
  }

  private escape(): string | undefined {
    const rest = this.pattern.slice(this.at);
    if (rest.length === 1) return "trailing backslash at end of expression: ``";
    const found = knownEscape.exec(rest)?.[0];
    if (found === undefined) return `invalid escape sequence: ${tick(rest.slice(0, 2))}`;
    this.at += found.length;
    this.isRepeatable = true;
    return undefined;
  }

  private group(): string | undefined {
    const rest = this.pattern.slice(this.at);
    this.open++;
    this.isRepeatable = false;
    if (!rest.startsWith("(?")) {
      this.at++;
      return undefined;
    }
    const known = /^\(\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?[:)])/.exec(rest)?.[0];
    if (known === undefined) {
      const shown = /^\(\?(?:P?<[^>]*>|<?[^)]?)/.exec(rest)?.[0] ?? rest;
      const isName = /^\(\?P?<[^=!]/.test(rest);
      return isName
        ? `invalid named capture: ${tick(shown)}`
        : `invalid or unsupported Perl syntax: ${tick(shown)}`;
    }
    if (known.endsWith(")")) this.open--;
    this.at += known.length;
    return undefined;
  }

  private characterClass(): string | undefined {
    const rest = this.pattern.slice(this.at);
    const whole = /^\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]/.exec(rest)?.[0];
    if (whole === undefined) return `missing closing ]: ${tick(rest)}`;
    for (const [range, low, high] of whole.matchAll(/([^\\[\]-])-([^\\[\]-])/g)) {
      if ((low ?? "") > (high ?? "")) return `invalid character class range: ${tick(range)}`;
    }
    this.at += whole.length;
    this.isRepeatable = true;
    return undefined;
  }

  private repeat(form: RegExp): string | undefined {
    const operator = form.exec(this.pattern.slice(this.at))?.[0] ?? "";
    if (!this.isRepeatable) {
      const before = /(?:[*+?]\??|\{\d+(?:,\d*)?\}\??)$/.exec(this.pattern.slice(0, this.at));
      return before === null
        ? `missing argument to repetition operator: ${tick(operator.replace(/\?$/, "") || "?")}`
        : `invalid nested repetition operator: ${tick(before[0] + operator)}`;
    }
    const [least = 0, most = least] = (operator.match(/\d+/g) ?? []).map(Number);
    if (most > MAX_REPEAT || least > most) return `invalid repeat count: ${tick(operator)}`;
    this.at += operator.length;
    this.isRepeatable = false;
    return undefined;
  }
}

const tick = (text: string): string => `\`${text}\``;
