/** Escaping of property names in expressions, by Kubernetes' rules. */
import { isReserved } from "./grammar.ts";

/** Whether the name is a keyword that must be escaped. */
function isWord(name: string): boolean {
  return isReserved(name) || literals.has(name);
}

const literals: ReadonlySet<string> = new Set(["true", "false", "null", "in"]);

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** The escaped name; undefined if the property is not accessible in expressions. */
export function escapeProperty(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (isWord(name)) return `__${name}__`;
  const escaped = name.replace(/__|[./-]/g, (part) => escapes[part] ?? part);
  return /^[0-9]/.test(escaped) ? undefined : escaped;
}

/**
 * The property of an escaped name; undefined if there is none. A reserved word is also accepted
 * unescaped.
 */
export function unescapeProperty(escaped: string): string | undefined {
  if (isWord(escaped)) return escaped;
  const word = /^__([a-z]+)__$/.exec(escaped)?.[1];
  if (word !== undefined && isWord(word)) return word;
  const name = escaped.replace(/__(underscores|dot|dash|slash)__/g, (_all, part: string) =>
    part === "underscores" ? "__" : ({ dot: ".", dash: "-", slash: "/" }[part] ?? ""),
  );
  return escapeProperty(name) === escaped ? name : undefined;
}
