import { badRequest } from "../status/status-errors.ts";

/**
 * Field selectors: `metadata.name=a,status.phase!=Running`. Commas, backslashes and `=` are
 * escaped by `\`.
 */

interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

interface FieldSelection {
  readonly requirements: readonly FieldRequirement[];
  /** Everything matches. */
  readonly empty: boolean;
  /** A field that is not there counts as empty. */
  matches(fields: Readonly<Record<string, string>>): boolean;
  toString(): string;
}

/**
 * Parses a field selector, without checking which fields the kind supports.
 * @throws StatusError 400
 */
export function parseFieldSelector(text: string): FieldSelection {
  const requirements: FieldRequirement[] = [];
  // Sorted like the reference's, which decides which of several faults is reported.
  for (const term of [...termsOf(text)].sort()) {
    if (term === "") continue;
    const requirement = requirementOf(term, text);
    // `=` and `!=` alone select everything, as in Kubernetes.
    if (requirement.field !== "" || requirement.value !== "") requirements.push(requirement);
  }
  return {
    requirements,
    empty: requirements.length === 0,
    matches: (fields) =>
      requirements.every(({ field, operator, value }) => {
        const actual = Object.hasOwn(fields, field) ? fields[field] : "";
        return (actual === value) === (operator === "=");
      }),
    toString: () =>
      requirements
        .map(({ field, operator, value }) => `${field}${operator}${escaped(value)}`)
        .join(","),
  };
}

/** Parts between commas that no backslash precedes. */
function termsOf(text: string): readonly string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\") at++;
    else if (character === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...terms, text.slice(start)];
}

function requirementOf(term: string, selector: string): FieldRequirement {
  const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
  if (match === null) {
    throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
  }
  const [, field = "", operator, value = ""] = match;
  return { field, operator: operator === "!=" ? "!=" : "=", value: unescaped(value) };
}

function unescaped(text: string): string {
  let value = "";
  const characters = [...text];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? "";
    if (character === "," || character === "=") {
      // The reference prints the character's code.
      const code = character.codePointAt(0);
      throw badRequest(`invalid field selector: unescaped character in value: ${code}`);
    }
    if (character !== "\\") {
      value += character;
      continue;
    }
    at++;
    const next = characters[at] ?? "";
    if (next !== "\\" && next !== "," && next !== "=") {
      throw badRequest(`invalid field selector: invalid escape sequence: \\${next}`);
    }
    value += next;
  }
  return value;
}

function escaped(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`);
}
