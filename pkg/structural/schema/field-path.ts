import type { CompiledSchema } from "./compiled-schema.ts";

/** Field to which a path refers. */
export interface ResolvedField {
  readonly names: readonly string[];
  /** The path in the form of field errors: `spec.labels[a.b]`. */
  readonly text: string;
  readonly schema: CompiledSchema;
}

/**
 * Resolves a path of fields, such as `.spec.labels['a.b']`, in a schema. Returns the error message if
 * the path is invalid.
 */
export function followFieldPath(
  path: string,
  root: CompiledSchema,
  { brackets }: { readonly brackets: boolean },
): ResolvedField | string {
  const names: string[] = [];
  let text = "";
  let schema = root;
  const tokens = tokensOf(path);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? "";
    if (token !== "." && token !== "[") return `expected [ or . but got: ${token}`;
    if (token === "[" && !brackets) return "array notation is not allowed";
    const part = tokens[++at];
    if (part === undefined) return "unexpected end of JSON path";
    const name = token === "." ? part : unquote(part);
    if (typeof name !== "string") return name.fault;
    const isNamed = schema.source.properties !== undefined;
    const next = isNamed ? schema.property(name) : schema.values;
    if (next === undefined) return "does not refer to a valid field";
    if (token === "[") {
      const closing = tokens[++at];
      if (closing === undefined) return "unexpected end of JSON path";
      if (closing !== "]") return `expected ] but got ${closing}`;
    }
    text += isNamed ? `${text === "" ? "" : "."}${name}` : `[${name}]`;
    names.push(name);
    schema = next;
  }
  return { names, text, schema };
}

/** Splits a path into delimiters, quoted strings and names. */
function tokensOf(path: string): readonly string[] {
  return path.match(/[.[\]]|'(?:\\.|[^'\\])*'|[^.[\]]+/gs) ?? [];
}

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

/** Removes the quotes of a string and decodes its escapes. */
function unquote(text: string): string | { readonly fault: string } {
  if (text.length < 2 || !text.startsWith("'") || !text.endsWith("'")) {
    return { fault: `expected single quoted string but got ${text}` };
  }
  let invalidEscape: string | undefined;
  const name = text.slice(1, -1).replace(/\\./gs, (pair) => {
    const character = escapes[pair.charAt(1)];
    if (character === undefined) invalidEscape ??= pair;
    return character ?? "";
  });
  if (invalidEscape === undefined) return name;
  return { fault: `invalid string literal: invalid escape char ${invalidEscape}` };
}
