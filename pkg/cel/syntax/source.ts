/** Source text of an expression, and error positions in it. */

export interface CompileIssue {
  /** 1-based; 0 columns for an empty text. */
  readonly line: number;
  /** 0-based, in code points. */
  readonly column: number;
  readonly message: string;
}

/** Longer lines, in bytes, are omitted from messages. */
const maxLineBytes = 16_384;

export class Source {
  private readonly lineStarts: readonly number[];

  constructor(readonly text: string) {
    const starts = [0];
    for (let index = 0; index < text.length; index++) {
      if (text.charCodeAt(index) === 10) starts.push(index + 1);
    }
    this.lineStarts = starts;
  }

  issue(offset: number, message: string): CompileIssue {
    if (this.text === "") return { line: 1, column: -1, message };
    let line = 0;
    while (line + 1 < this.lineStarts.length && (this.lineStarts[line + 1] ?? 0) <= offset) line++;
    const start = this.lineStarts[line] ?? 0;
    return { line: line + 1, column: codePoints(this.text.slice(start, offset)), message };
  }

  /** `ERROR: <input>:1:6: ...`, the line, and a caret under the position. */
  render(issue: CompileIssue): string {
    const { message } = issue;
    const heading = `ERROR: <input>:${issue.line}:${issue.column + 1}: ${message}`;
    if (issue.column < 0) return heading;
    const line = this.text.split("\n")[issue.line - 1] ?? "";
    if (Buffer.byteLength(line) > maxLineBytes) return heading;
    const printed = line.replaceAll("\t", " ");
    const before = [...printed].slice(0, issue.column);
    const dots = before.map((character) => (isWide(character) ? "\uff0e" : ".")).join("");
    const at = [...printed][issue.column];
    const caret = at !== undefined && isWide(at) ? "\uff3e" : "^";
    return `${heading}\n | ${printed}\n | ${dots}${caret}`;
  }
}

/** Maximum number of issues in messages; the first ones found are included. */
const maxIssues = 100;

/** Collects issues; beyond the maximum, positions are not computed. */
export class Issues {
  readonly found: CompileIssue[] = [];

  constructor(private readonly source: Source) {}

  add(offset: number, message: string): void {
    const isShown = this.found.length < maxIssues;
    this.found.push(isShown ? this.source.issue(offset, message) : { ...unknownPosition, message });
  }
}

const unknownPosition = { line: -1, column: -1 } as const;

/** Renders issues in the order of their positions. */
export function renderIssues(source: Source, issues: readonly CompileIssue[]): string {
  const rendered = issues
    .slice(0, maxIssues)
    .sort((left, right) => left.line - right.line || left.column - right.column)
    .map((issue) => source.render(issue));
  const more = issues.length - rendered.length;
  return [...rendered, ...(more > 0 ? [`${more} more errors were truncated`] : [])].join("\n");
}

/** Minimum length of texts whose code point count is cached. */
const minCachedLength = 1024;

/** Code point counts of the last long texts, as the terms of a rule mostly use the same one or two. */
const recentCounts: { readonly text: string; readonly count: number }[] = [];

/** Length in code points; cached for long texts. */
export function codePoints(text: string): number {
  if (text.length <= minCachedLength) return countCodePoints(text);
  const known = recentCounts.find((each) => each.text === text);
  if (known !== undefined) return known.count;
  const count = countCodePoints(text);
  recentCounts.unshift({ text, count });
  if (recentCounts.length > 4) recentCounts.pop();
  return count;
}

function countCodePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    if (isHigh(text.charCodeAt(index)) && isLow(text.charCodeAt(index + 1))) {
      count--;
      index++;
    }
  }
  return count;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** Whether the character has more than one byte in UTF-8, for which cel-go draws a wide mark. */
function isWide(character: string): boolean {
  return (character.codePointAt(0) ?? 0) > 0x7f;
}
