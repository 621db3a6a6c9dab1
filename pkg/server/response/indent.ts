const STEP = "  ";

/**
 * Indents JSON text that arrives in pieces, two spaces a level, without parsing it: numbers and
 * key order stay as they are. `{"a":[1,{}]}` becomes five lines; empty objects and arrays stay on
 * one.
 */
export class Indenter {
  private depth = 0;
  private inString = false;
  private escaped = false;
  /** An opening bracket whose first member has not come yet. */
  private opened = false;

  /** The indented form of the next piece of one JSON text, which itself is without blanks. */
  feed(text: string): string {
    let out = "";
    for (let i = 0; i < text.length; i++) {
      const character = text[i]!;
      out += this.inString ? this.quoted(character) : this.structural(character);
    }
    return out;
  }

  private quoted(character: string): string {
    if (this.escaped) this.escaped = false;
    else if (character === "\\") this.escaped = true;
    else if (character === '"') this.inString = false;
    return character;
  }

  private structural(character: string): string {
    switch (character) {
      case "{":
      case "[": {
        const lead = this.lead();
        this.depth++;
        this.opened = true;
        return lead + character;
      }
      case "}":
      case "]": {
        this.depth--;
        const empty = this.opened;
        this.opened = false;
        return empty ? character : this.line() + character;
      }
      case ",":
        return character + this.line();
      case ":":
        return ": ";
      case "\n":
        return character;
      default: {
        if (character === '"') this.inString = true;
        return this.lead() + character;
      }
    }
  }

  private lead(): string {
    if (!this.opened) return "";
    this.opened = false;
    return this.line();
  }

  private line(): string {
    return `\n${STEP.repeat(this.depth)}`;
  }
}
