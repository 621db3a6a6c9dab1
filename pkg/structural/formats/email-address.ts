/**
 * Whether a text is one mailbox of RFC 5322, with or without a display name:
 * `a@example.com` or `"Ann A." <a@example.com>`.
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > maxLength) return false;
  const plain = withoutComments(text);
  if (plain === undefined) return false;
  if (address.test(plain)) return true;
  const [, name = "", inner = ""] = /^(.*)<([^<>]*)>\s*$/s.exec(plain) ?? [];
  return address.test(inner) && isPhrase(name);
}

/** Maximum length, which bounds the time of the regular expressions. */
const maxLength = 10_000;

const atomCharacters = "\\w!#$%&'*+\\-/=?^`{|}~\\u0080-\\uffff";
const atomPattern = `[${atomCharacters}]+`;
const quotedPattern = '"(?:[^"\\\\\\r\\n]|\\\\[^\\r\\n])*"';
const dotAtomPattern = `${atomPattern}(?:\\.${atomPattern})*`;
const domainPattern = `(?:${dotAtomPattern}|\\[[^\\]\\s]*\\])`;
const address = new RegExp(
  `^\\s*(?:${dotAtomPattern}|${quotedPattern})\\s*@\\s*${domainPattern}\\s*$`,
);

/** Whether the text is a sequence of words, quoted or not; dots are allowed. */
function isPhrase(text: string): boolean {
  const word = new RegExp(`\\s*(?:[${atomCharacters}.]+|${quotedPattern}|$)`, "y");
  while (word.lastIndex < text.length) if (!word.test(text)) return false;
  return true;
}

/** Removes comments in parentheses, which may be nested; undefined if one is unterminated. */
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
