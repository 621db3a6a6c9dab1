/** The text of an expression, and errors that point into it. */

export interface CompileIssue {
  /** 1-based; 0 columns for an empty text. */
  readonly line: number;
  /** 0-based, in code points. */
  readonly column: number;
  readonly message: string;
}

/** Lines longer than that, in bytes, are not shown. */
const LONGEST_SHOWN = 16_384;

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

  /** `ERROR: <input>:1:6: ...`, the line, and a mark under the place. */
  render(issue: CompileIssue): string {
    const { message } = issue;
    const heading = `ERROR: <input>:${issue.line}:${issue.column + 1}: ${message}`;
    if (issue.column < 0) return heading;
    const line = this.text.split("\n")[issue.line - 1] ?? "";
    if (Buffer.byteLength(line) > LONGEST_SHOWN) return heading;
    const shown = line.replaceAll("\t", " ");
    const before = [...shown].slice(0, issue.column);
    const dots = before.map((character) => (isWide(character) ? "\uff0e" : ".")).join("");
    const at = [...shown][issue.column];
    return `${heading}\n | ${shown}\n | ${dots}${at !== undefined && isWide(at) ? "\uff3e" : "^"}`;
  }
}

/** That many issues are shown, those found first. */
const MOST_SHOWN = 100;

/** Collects issues. The places of those that will not be shown are not looked up. */
export class Issues {
  readonly found: CompileIssue[] = [];

  constructor(private readonly source: Source) {}

  add(offset: number, message: string): void {
    const isShown = this.found.length < MOST_SHOWN;
    this.found.push(isShown ? this.source.issue(offset, message) : { ...unplaced, message });
  }
}

const unplaced = { line: -1, column: -1 } as const;

/** Issues in order of their places, one after another. */
export function renderIssues(source: Source, issues: readonly CompileIssue[]): string {
  const shown = issues
    .slice(0, MOST_SHOWN)
    .sort((left, right) => left.line - right.line || left.column - right.column)
    .map((issue) => source.render(issue));
  const more = issues.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more errors were truncated`] : [])].join("\n");
}

/** Texts above this are worth remembering. */
const LONG = 1024;

/** The long texts that were counted last. The terms of a rule mostly look at the same one or two. */
const counted: { readonly text: string; readonly count: number }[] = [];

/** Length in code points, as expressions count. Of a text that was counted before without a scan. */
export function codePoints(text: string): number {
  if (text.length <= LONG) return scan(text);
  const known = counted.find((each) => each.text === text);
  if (known !== undefined) return known.count;
  const count = scan(text);
  counted.unshift({ text, count });
  if (counted.length > 4) counted.pop();
  return count;
}

function scan(text: string): number {
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

/** More than one byte in UTF-8: the mark below is drawn wide to stay in line. */
function isWide(character: string): boolean {
  return (character.codePointAt(0) ?? 0) > 0x7f;
}
