/** The text of an expression, and errors that point into it. */

export interface CompileIssue {
  /** 1-based; 0 columns for an empty text. */
  readonly line: number;
  /** 0-based, in code points. */
  readonly column: number;
  readonly message: string;
}

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

  heading({ line, column, message }: CompileIssue): string {
    return `ERROR: <input>:${line}:${column + 1}: ${message}`;
  }

  /** `ERROR: <input>:1:6: ...`, the line, and a mark under the place. */
  render(issue: CompileIssue): string {
    const heading = this.heading(issue);
    if (issue.column < 0) return heading;
    const line = this.text.split("\n")[issue.line - 1] ?? "";
    const shown = line.replaceAll("\t", " ");
    const before = [...shown].slice(0, issue.column);
    const dots = before.map((character) => (isWide(character) ? "\uff0e" : ".")).join("");
    const at = [...shown][issue.column];
    return `${heading}\n | ${shown}\n | ${dots}${at !== undefined && isWide(at) ? "\uff3e" : "^"}`;
  }
}

/** Lines of the text are shown up to this length in all, as a long one may have many issues. */
const MOST_SHOWN = 100_000;

/** All issues in order of their places, one after another. */
export function renderIssues(source: Source, issues: readonly CompileIssue[]): string {
  const sorted = [...issues].sort(
    (left, right) => left.line - right.line || left.column - right.column,
  );
  let length = 0;
  return sorted
    .map((issue) => {
      const rendered = length < MOST_SHOWN ? source.render(issue) : source.heading(issue);
      length += rendered.length;
      return rendered;
    })
    .join("\n");
}

/** Length in code points, as expressions count. */
export function codePoints(text: string): number {
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
