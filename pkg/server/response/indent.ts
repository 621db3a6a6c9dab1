import { type Awaitable, promptly, type Slices } from "#base";

const indent = "  ";

/** Characters that are indented in one slice, which takes a millisecond. */
const sliceLength = 64 * 1024;

/** The indented text in pieces; yields while it indents a long one. */
export function indented(text: string): Awaitable<readonly string[]> {
  return promptly(indentInSlices(text));
}

function* indentInSlices(text: string): Slices<readonly string[]> {
  const indenter = new Indenter();
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    let to = from + sliceLength;
    if (isHighSurrogate(text.charCodeAt(to - 1))) to += 1;
    pieces.push(indenter.feed(text.slice(from, to)));
    from = to;
    yield;
  }
  return pieces;
}

/** Whether a character consists of this unit and the next one, which are encoded together. */
function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

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
