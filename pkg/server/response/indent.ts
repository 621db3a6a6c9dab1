const indent = "  ";

/**
 * Indents compact JSON text by two spaces per level, in chunks and without parsing it, so that numbers
 * and the order of keys do not change. Empty objects and arrays stay on one line.
 */
export class Indenter {
  private depth = 0;
  private inString = false;
  private escaped = false;
  /** Whether the last character was an opening bracket. */
  private opened = false;

  /** Returns the next chunk of the text indented. */
  feed(text: string): string {
    let indented = "";
    for (let i = 0; i < text.length; i++) {
      const character = text[i]!;
      indented += this.inString ? this.quoted(character) : this.structural(character);
    }
    return indented;
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
        const newline = this.newlineAfterOpening();
        this.depth++;
        this.opened = true;
        return newline + character;
      }
      case "}":
      case "]": {
        this.depth--;
        const isEmpty = this.opened;
        this.opened = false;
        return isEmpty ? character : this.newline() + character;
      }
      case ",":
        return character + this.newline();
      case ":":
        return ": ";
      case "\n":
        return character;
      default: {
        if (character === '"') this.inString = true;
        return this.newlineAfterOpening() + character;
      }
    }
  }

  private newlineAfterOpening(): string {
    if (!this.opened) return "";
    this.opened = false;
    return this.newline();
  }

  private newline(): string {
    return `\n${indent.repeat(this.depth)}`;
  }
}
