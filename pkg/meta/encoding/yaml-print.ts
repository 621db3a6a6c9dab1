import { atOnce, type Slices, sortInSlices } from "#base";
import { isPlainText } from "./yaml-scalars.ts";

/**
 * Prints YAML as sigs.k8s.io/yaml: keys in natural order, lists not indented below their key, plain
 * strings where possible, folded at spaces at 80 columns.
 */

const lineWidth = 80;
/** Maximum length of a simple key; longer ones follow a question mark. */
const maxSimpleKey = 128;

type Style = "plain" | "single" | "double" | "literal";

/** The YAML of a JSON value, with a final line break. */
export function printYaml(value: unknown): string {
  return atOnce(printYamlInSlices(value));
}

export function* printYamlInSlices(value: unknown): Slices<string> {
  const printer = new Printer();
  yield* printer.root(value);
  return printer.text;
}

/** Number of elements and keys per slice. */
const slice = 500;

class Printer {
  text = "";
  private column = 0;
  private printed = 0;

  *root(value: unknown): Slices<void> {
    if (isBlock(value)) yield* this.block(value, 0, false);
    else {
      this.scalar(value, 2, false);
      this.write("\n");
    }
  }

  private write(text: string): void {
    this.text += text;
    const newline = text.lastIndexOf("\n");
    if (newline < 0) this.column += text.length;
    else this.column = text.length - newline - 1;
  }

  /** `started`: the first line's indentation is already there, behind a dash. */
  private block(value: object, indent: number, started: boolean): Slices<void> {
    if (Array.isArray(value)) return this.list(value, indent, started);
    return this.map(value as Readonly<Record<string, unknown>>, indent, started);
  }

  private *list(elements: readonly unknown[], indent: number, started: boolean): Slices<void> {
    for (const [index, element] of elements.entries()) {
      if (++this.printed % slice === 0) yield;
      if (index > 0 || !started) this.write(" ".repeat(indent));
      this.write("- ");
      if (isBlock(element)) yield* this.block(element, indent + 2, true);
      else {
        this.scalar(element, indent + 2, false);
        this.write("\n");
      }
    }
  }

  private *map(
    object: Readonly<Record<string, unknown>>,
    indent: number,
    started: boolean,
  ): Slices<void> {
    const keys = yield* sortInSlices(Object.keys(object), compareKeys);
    for (const [index, key] of keys.entries()) {
      if (++this.printed % slice === 0) yield;
      if (index > 0 || !started) this.write(" ".repeat(indent));
      this.key(key, indent);
      const value = object[key];
      if (!isBlock(value)) {
        this.write(" ");
        this.scalar(value, indent + 2, false);
        this.write("\n");
        continue;
      }
      this.write("\n");
      yield;
      yield* this.block(value, Array.isArray(value) ? indent : indent + 2, false);
    }
  }

  private key(key: string, indent: number): void {
    const isSimple = Buffer.byteLength(key) <= maxSimpleKey && !key.includes("\n");
    if (isSimple) {
      this.scalar(key, indent, true);
      this.write(":");
      return;
    }
    this.write("? ");
    this.scalar(key, indent + 2, false);
    this.write(`\n${" ".repeat(indent)}:`);
  }

  /** `indent` is where lines continue. */
  private scalar(value: unknown, indent: number, isKey: boolean): void {
    if (typeof value !== "string") {
      this.write(plainValue(value));
      return;
    }
    switch (styleOf(value, isKey)) {
      case "plain":
        this.folded(value, { indent: isKey ? -1 : indent, quote: "" });
        return;
      case "single":
        this.folded(value, { indent: isKey ? -1 : indent, quote: "'" });
        return;
      case "double":
        this.double(value, isKey ? -1 : indent);
        return;
      case "literal":
        this.literal(value, indent);
        return;
    }
  }

  /** Plain or in single quotes; `indent` is -1 where no line may break. */
  private folded(
    text: string,
    { indent, quote }: { readonly indent: number; readonly quote: string },
  ): void {
    this.write(quote);
    const fits = this.column + text.length <= lineWidth || !text.includes(" ");
    if (fits && quote === "") return this.write(text);
    let afterSpace = false;
    for (let at = 0; at < text.length; at++) {
      const character = text.charAt(at);
      const inside = quote === "" || (at > 0 && at < text.length - 1);
      if (character === " ") {
        const canBreak = indent >= 0 && !afterSpace && inside && text.charAt(at + 1) !== " ";
        this.write(canBreak && this.column > lineWidth ? `\n${" ".repeat(indent)}` : " ");
        afterSpace = true;
        continue;
      }
      this.write(character === "'" && quote !== "" ? "''" : character);
      afterSpace = false;
    }
    this.write(quote);
  }

  private double(text: string, indent: number): void {
    const characters = [...text];
    this.write('"');
    let afterSpace = false;
    for (const [at, character] of characters.entries()) {
      if (character !== " ") {
        this.write(escaped(character));
        afterSpace = false;
        continue;
      }
      const inside = at > 0 && at < characters.length - 1;
      if (indent >= 0 && !afterSpace && inside && this.column > lineWidth) {
        const guard = characters[at + 1] === " " ? "\\" : "";
        this.write(`\n${" ".repeat(indent)}${guard}`);
      } else {
        this.write(" ");
      }
      afterSpace = true;
    }
    this.write('"');
  }

  private literal(text: string, indent: number): void {
    const hint = /^[ \n]/.test(text) ? "2" : "";
    const chomp = !text.endsWith("\n") ? "-" : text === "\n" || text.endsWith("\n\n") ? "+" : "";
    this.write(`|${hint}${chomp}`);
    const body = text.endsWith("\n") ? text.slice(0, -1) : text;
    for (const line of body.split("\n")) {
      this.write(line === "" ? "\n" : `\n${" ".repeat(indent)}${line}`);
    }
  }
}

/** Whether the value is printed in block style, on separate lines. */
function isBlock(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0;
}

function plainValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "object") return Array.isArray(value) ? "[]" : "{}";
  if (typeof value === "number" && Math.abs(value) >= 1e21) return String(value);
  return String(value);
}

function styleOf(text: string, isKey: boolean): Style {
  const allowed = analyze(text);
  if (text.includes("\n")) return isKey || !allowed.literal ? "double" : "literal";
  if (!isPlainText(text)) return "double";
  if (allowed.plain) return "plain";
  return allowed.single ? "single" : "double";
}

interface Allowed {
  readonly plain: boolean;
  readonly single: boolean;
  readonly literal: boolean;
}

const unprintable = /[^\n -~\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;

/** The styles that can represent a non-empty text. */
function analyze(text: string): Allowed {
  if (unprintable.test(text) || / \n/.test(text)) {
    return { plain: false, single: false, literal: false };
  }
  const edges = /^[ \n]|[ \n]$/.test(text);
  const indicators = /^(---|\.\.\.)|^[#,[\]{}&*!|>'"%@`]|^[?:-]( |$)|:( |$|\n)|[ \n]#/.test(text);
  return {
    plain: !edges && !indicators && !text.includes("\n"),
    single: !/\n /.test(text),
    literal: !text.endsWith(" "),
  };
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["\0", "\\0"],
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\v", "\\v"],
  ["\f", "\\f"],
  ["\r", "\\r"],
  ["\u001b", "\\e"],
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\u0085", "\\N"],
  ["\u2028", "\\L"],
  ["\u2029", "\\P"],
]);

function escaped(character: string): string {
  const short = escapes.get(character);
  if (short !== undefined) return short;
  if (!unprintable.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** Natural order of go-yaml: `a2` before `a10`, letters after other characters. */
function compareKeys(a: string, b: string): number {
  const at = firstDifference(a, b);
  if (at === a.length || at === b.length) return a.length - b.length;
  const [letterInA, letterInB] = [isLetter(a, at), isLetter(b, at)];
  if (letterInA && letterInB) return compareCharacters(a, b, at);
  if (letterInA || letterInB) {
    const behindDigits = at > 0 && isDigit(a, at - 1);
    return (behindDigits ? letterInA : letterInB) ? -1 : 1;
  }
  return compareNumbers(a, b, at);
}

/** Index of the first differing character. */
function firstDifference(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  const isInside = at > 0 && (a.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  return isInside ? at - 1 : at;
}

function isLetter(text: string, at: number): boolean {
  const code = text.codePointAt(at) ?? 0;
  if (code >= 0x80) return /^\p{L}$/u.test(String.fromCodePoint(code));
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

function isDigit(text: string, at: number): boolean {
  const code = text.codePointAt(at) ?? 0;
  if (code >= 0x80) return /^\p{Nd}$/u.test(String.fromCodePoint(code));
  return code >= 0x30 && code <= 0x39;
}

/** Compares the numbers that start at or contain the first difference. */
function compareNumbers(left: string, right: string, at: number): number {
  let lead = 0;
  if (left[at] === "0" || right[at] === "0") {
    for (let before = at - 1; before >= 0 && isDigit(left, before); before--) {
      if (left[before] !== "0") lead = 1;
    }
  }
  const l = numberAt(left, at, lead);
  const r = numberAt(right, at, lead);
  if (l.value !== r.value) return l.value < r.value ? -1 : 1;
  return l.end - r.end || compareCharacters(left, right, at);
}

function numberAt(
  text: string,
  start: number,
  lead: number,
): { readonly value: number; readonly end: number } {
  let value = lead;
  let end = start;
  for (; end < text.length && isDigit(text, end); end++) value = value * 10 + Number(text[end]);
  return { value, end };
}

function compareCharacters(a: string, b: string, at: number): number {
  return (a.codePointAt(at) ?? 0) - (b.codePointAt(at) ?? 0);
}
