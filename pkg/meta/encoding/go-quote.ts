/** Texts as Go prints them, for the messages that clients compare. */

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);

/** `%q`: in double quotes, with what is not printable escaped. */
export function goQuote(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  let quoted = "";
  for (const character of text) {
    quoted += escapes.get(character) ?? escapeUnlessPrintable(character);
  }
  return `"${quoted}"`;
}

function escapeUnlessPrintable(character: string): string {
  if (printable.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, "0")}`;
  // Half a surrogate pair cannot reach Go: its decoder has replaced it.
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  return code > 0xffff ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
}
