/**
 * Malformed YAML, or YAML that cannot be converted to JSON; the message starts with `yaml: ` and names
 * the line.
 */
export class YamlFault extends Error {
  override readonly name = "YamlFault";
}

/** An error of js-yaml. */
interface ParserError {
  readonly reason: string;
  readonly mark?: { readonly line: number; readonly position: number } | null | undefined;
}

/** Maximum depth of collections. */
export const maxNesting = 1_000;

/**
 * The fault of the lines before the first content of a document: directives, a document end, or a tab
 * before the content. undefined if there is none.
 */
export function preambleFault(source: string): YamlFault | undefined {
  let hasVersion = false;
  let hasDirective = false;
  for (const [line, text] of linesOf(source)) {
    if (/^\s*(#|$)/.test(text)) continue;
    if (!text.startsWith("%")) return firstContentFault(text, line, hasDirective);
    const words = directiveFault(text);
    if (words !== undefined) return new YamlFault(`yaml: ${scannedLine(line)}${words}`);
    hasDirective = true;
    if (!/^%YAML\s/.test(text)) continue;
    if (hasVersion) return parserFault(line, "found duplicate %YAML directive");
    if (!/^%YAML\s+1\.1\b/.test(text)) return parserFault(line, "found incompatible YAML document");
    hasVersion = true;
  }
  return undefined;
}

function* linesOf(source: string): Generator<readonly [number, string]> {
  let start = 0;
  for (let line = 0; start < source.length; line++) {
    const newline = source.indexOf("\n", start);
    const end = newline < 0 ? source.length : newline;
    yield [line, source.slice(start, end)];
    start = end + 1;
  }
}

function firstContentFault(
  text: string,
  line: number,
  hasDirective: boolean,
): YamlFault | undefined {
  if (/^\.\.\.(\s|$)/.test(text)) return parserFault(line, "did not find expected node content");
  if (/^ *\t/.test(text)) {
    return new YamlFault(`yaml: ${scannedLine(line)}found character that cannot start any token`);
  }
  const isStart = /^---(\s|$)/.test(text);
  if (!hasDirective || isStart) return undefined;
  return parserFault(line, "did not find expected <document start>");
}

/** The words of go-yaml's scanner about a malformed directive. */
function directiveFault(text: string): string | undefined {
  const [, name = ""] = /^%([\w-]*)/.exec(text) ?? [];
  if (name === "") return "could not find expected directive name";
  if (name !== "YAML" && name !== "TAG") return "found unknown directive name";
  if (name === "TAG" || /^%YAML\s+\d+\.\d+\s*(#|$)/.test(text)) return undefined;
  return "did not find expected version number";
}

/** A fault of go-yaml's parser, which counts lines from 0 and does not name the first one. */
function parserFault(line: number, words: string): YamlFault {
  return new YamlFault(`yaml: ${line === 0 ? "" : `line ${line}: `}${words}`);
}

interface Reason {
  readonly pattern: RegExp;
  readonly words: string;
}

/** go-yaml's messages for the parser's common errors. */
const reasons: readonly Reason[] = [
  {
    pattern: /tab|cannot start any token|reserved indicator/i,
    words: "found character that cannot start any token",
  },
  {
    pattern: /bad indentation of a mapping entry|can not read a block mapping entry/i,
    words: "mapping values are not allowed in this context",
  },
  {
    pattern: /bad indentation of a sequence entry/i,
    words: "did not find expected '-' indicator",
  },
  { pattern: /unknown escape sequence/, words: "found unknown escape character" },
  {
    pattern: /expected hexadecimal character/,
    words: "did not find expected hexdecimal number",
  },
  {
    pattern: /bad explicit indentation width/,
    words: "found an indentation indicator equal to 0",
  },
  { pattern: /a line break is expected/, words: "did not find expected comment or line break" },
  { pattern: /maxDepth/, words: `exceeded max depth of ${maxNesting}` },
];

export function syntaxFault(error: ParserError, source: string): YamlFault {
  const line = error.mark?.line ?? 0;
  const position = error.mark?.position ?? source.length;
  const open = openBracket(source.slice(0, position));
  if (open !== undefined && /deficient|flow|missed comma|node content/.test(error.reason)) {
    // Such faults are reported one line early, counted as if the text ended with a line break.
    const atEnd = source.slice(position).trim() === "" && !source.endsWith("\n");
    const words = /[,[{]\s*$/.test(source.slice(0, position))
      ? "did not find expected node content"
      : `did not find expected ',' or '${open}'`;
    return new YamlFault(`yaml: line ${Math.max(1, atEnd ? line + 1 : line)}: ${words}`);
  }
  const lines = source.split("\n");
  if (/quoted scalar|deficient indentation/.test(error.reason)) {
    return new YamlFault(`yaml: ${scannedLine(lines.length - 1)}found unexpected end of stream`);
  }
  const column = position - (source.lastIndexOf("\n", position - 1) + 1);
  if (
    /bad indentation of a mapping entry/.test(error.reason) &&
    /^-\s/.test(source.slice(position))
  ) {
    const why = "block sequence entries are not allowed in this context";
    return new YamlFault(`yaml: ${scannedLine(line)}${why}`);
  }
  const block = blockFault(lines, { line, column });
  if (block !== undefined) return new YamlFault(block);
  if (/tab characters/.test(error.reason) && endsPlain(source.split("\n")[line - 1] ?? "")) {
    const why = "found a tab character that violates indentation";
    return new YamlFault(`yaml: line ${line + 1}: ${why}`);
  }
  const parsed = parserWords(error.reason, source, position);
  if (parsed !== undefined) return parserFault(line, parsed);
  const words = reasons.find(({ pattern }) => pattern.test(error.reason))?.words ?? error.reason;
  return new YamlFault(`yaml: ${scannedLine(line)}${words}`);
}

/** The words about tokens that go-yaml's scanner accepts and its parser does not. */
function parserWords(reason: string, source: string, position: number): string | undefined {
  if (/undeclared tag handle/.test(reason)) return "found undefined tag handle";
  if (/duplication of an anchor/.test(reason)) return "did not find expected key";
  const found = source[position] ?? "";
  if (/end of the stream/.test(reason) && /[\]},]/.test(found)) {
    const isFirst = source.slice(0, position).trim() === "";
    return isFirst ? "did not find expected node content" : "did not find expected key";
  }
  const isOtherToken = /bad indentation of a mapping entry/.test(reason) && !/[:-]/.test(found);
  return isOtherToken ? "did not find expected key" : undefined;
}

/** The line of a fault of go-yaml's scanner, which does not name the first line. */
export function scannedLine(line: number): string {
  return line === 0 ? "" : `line ${line + 1}: `;
}

/**
 * The fault of an entry that does not fit into the blocks above it: one that begins with a
 * reserved indicator, or one with an indentation that no open block has. undefined for all others.
 */
function blockFault(
  lines: readonly string[],
  { line, column }: { readonly line: number; readonly column: number },
): string | undefined {
  const text = lines[line] ?? "";
  if (/[@`]/.test(text[column] ?? "") || (column > 0 && text[column] === "%")) {
    return `yaml: ${scannedLine(line)}found character that cannot start any token`;
  }
  const indent = text.search(/[^ ]/);
  if (line === 0 || indent < column || !/^(- |[^\s#]+:( |$))/.test(text.slice(indent))) {
    return undefined;
  }
  const entry = blockEntry(lines, line, indent);
  if (entry === undefined) return undefined;
  const isSequence = entry.trimStart().startsWith("- ");
  const words = isSequence ? "did not find expected '-' indicator" : "did not find expected key";
  // The parser of go-yaml counts lines from 0.
  return `yaml: line ${line}: ${words}`;
}

/** The last entry of the innermost block that is still open at a line with this indentation. */
function blockEntry(lines: readonly string[], line: number, indent: number): string | undefined {
  return lines.slice(0, line).findLast((text) => {
    const own = text.search(/[^ ]/);
    return own >= 0 && own <= indent && text[own] !== "#";
  });
}

/** Whether the line ends in a plain scalar, which the next line could continue. */
function endsPlain(line: string): boolean {
  return !line.includes("#") && /[^\s:\-,"'|>[\]{}]\s*$/.test(line);
}

/** The closing bracket of the innermost open flow collection at the end of the text. */
function openBracket(text: string): string | undefined {
  const open: string[] = [];
  for (const [found] of text.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[[\]{}]/gs)) {
    if (found === "[") open.push("]");
    else if (found === "{") open.push("}");
    else if (found === "]" || found === "}") open.pop();
  }
  return open.at(-1);
}
