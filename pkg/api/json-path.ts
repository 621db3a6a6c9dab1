import type { Path, Problems } from "#schema";

/**
 * Rejects a path that kubectl's JSONPath parser cannot parse.
 * @param text path without the braces
 */
export function checkJsonPath(text: string, path: Path, problems: Problems): void {
  const fault = jsonPathFault(text);
  if (fault !== undefined) problems.invalid(path, text, `invalid JSONPath: ${fault}`);
}

/** The error message of Kubernetes' JSONPath parser; undefined if the path is valid. */
export function jsonPathFault(text: string): string | undefined {
  let rest = text;
  while (rest !== "") {
    const token = tokens.map((pattern) => pattern.exec(rest)?.[0]).find(Boolean);
    if (token === undefined) return faultAt(rest);
    rest = rest.slice(token.length);
  }
  return undefined;
}

const quoted = String.raw`(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`;

/** Fields, brackets, literals and loop keywords. */
const tokens: readonly RegExp[] = [
  /^\s+/,
  /^\.\.?(?:\*|(?:\\.|[^\s.,[\](){}|@$'"\\])*)/,
  new RegExp(String.raw`^\[(?:${quoted}|[^\]'"])*\]`),
  new RegExp(`^${quoted}`),
  /^[@$]/,
  /^[\w-]+/,
];

function faultAt(rest: string): string {
  if (/^\[\s*\?/.test(rest)) return "unterminated filter";
  if (rest.startsWith("[")) return "unterminated array";
  if (/^["']/.test(rest)) return "unterminated quoted string";
  const code = rest.codePointAt(0) ?? 0;
  const name = code.toString(16).toUpperCase().padStart(4, "0");
  return `unrecognized character in action: U+${name} '${String.fromCodePoint(code)}'`;
}
