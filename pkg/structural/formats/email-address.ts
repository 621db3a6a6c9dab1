/**
 * Whether a text is one address of a mail header (RFC 5322), with or without a name: as in
 * `a@example.com` or `"Ann A." <a@example.com>`.
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > LONGEST) return false;
  const plain = withoutComments(text);
  if (plain === undefined) return false;
  if (address.test(plain)) return true;
  const [, name = "", inner = ""] = /^(.*)<([^<>]*)>\s*$/s.exec(plain) ?? [];
  return address.test(inner) && isPhrase(name);
}

/** Longer texts are no address that anyone could use. */
const LONGEST = 10_000;

const LETTERS = "\\w!#$%&'*+\\-/=?^`{|}~\\u0080-\\uffff";
const ATOM = `[${LETTERS}]+`;
const QUOTED = '"(?:[^"\\\\\\r\\n]|\\\\[^\\r\\n])*"';
const DOTTED = `${ATOM}(?:\\.${ATOM})*`;
const DOMAIN = `(?:${DOTTED}|\\[[^\\]\\s]*\\])`;
const address = new RegExp(`^\\s*(?:${DOTTED}|${QUOTED})\\s*@\\s*${DOMAIN}\\s*$`);

/** Whether it is words, quoted or not, in which dots may stand. */
function isPhrase(text: string): boolean {
  const word = new RegExp(`\\s*(?:[${LETTERS}.]+|${QUOTED}|$)`, "y");
  while (word.lastIndex < text.length) if (!word.test(text)) return false;
  return true;
}

/** Comments stand in brackets, and may contain others; undefined if one does not end. */
function withoutComments(text: string): string | undefined {
  let depth = 0;
  let isQuoted = false;
  let plain = "";
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    const isEscaped = character === "\\" && (isQuoted || depth > 0);
    if (character === '"' && depth === 0) isQuoted = !isQuoted;
    if (character === "(" && !isQuoted) depth++;
    else if (character === ")" && depth > 0) depth--;
    else if (depth === 0) plain += isEscaped ? text.slice(at, at + 2) : character;
    if (isEscaped) at++;
  }
  return depth === 0 ? plain : undefined;
}
