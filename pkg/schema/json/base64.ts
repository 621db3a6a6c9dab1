/** Padded base64 (RFC 4648 section 4), decoded as by Go's `encoding/base64.StdEncoding`. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const illegalCharacter = 0xff;

const sextets: Readonly<Uint8Array> = (() => {
  const table = new Uint8Array(128).fill(illegalCharacter);
  for (let index = 0; index < 64; index++) table[alphabet.charCodeAt(index)] = index;
  return table;
})();

/**
 * The canonical form of base64 text: without line breaks, unused trailing bits zero. Returns the index
 * of the first illegal byte for other text (Go's CorruptInputError).
 */
export function canonicalBase64(text: string): string | number {
  const body = bodyLength(text);
  for (let at = 0; at < body; at++) {
    if ((sextets[text.charCodeAt(at)] ?? illegalCharacter) === illegalCharacter)
      return irregular(text);
  }
  if (text.length % 4 !== 0) return irregular(text);
  const unusedBits = text.length - body === 1 ? 0x3 : text.length - body === 2 ? 0xf : 0;
  const last = body > 0 ? (sextets[text.charCodeAt(body - 1)] ?? 0) : 0;
  return (last & unusedBits) === 0 ? text : Buffer.from(text, "base64").toString("base64");
}

/** Length without padding. */
function bodyLength(text: string): number {
  const length = text.length;
  if (length < 4 || text.charCodeAt(length - 1) !== 0x3d) return length;
  return text.charCodeAt(length - 2) === 0x3d ? length - 2 : length - 1;
}

/**
 * Canonicalizes text with line breaks or errors, in groups of four as Go does, for the index of errors.
 */
function irregular(text: string): string | number {
  let at = 0;
  const skipBreaks = () => {
    while (text[at] === "\n" || text[at] === "\r") at++;
  };
  while (at < text.length) {
    for (let inGroup = 0; inGroup < 4; inGroup++) {
      skipBreaks();
      if (at >= text.length) {
        if (inGroup === 0) break;
        return at - inGroup;
      }
      const unit = text.charCodeAt(at++);
      if ((sextets[unit] ?? illegalCharacter) !== illegalCharacter) continue;
      if (unit !== 0x3d || inGroup < 2) return at - 1;
      skipBreaks();
      if (inGroup === 2) {
        if (at >= text.length) return at;
        if (text[at] !== "=") return at - 1;
        at++;
        skipBreaks();
      }
      if (at < text.length) return at;
      break;
    }
  }
  return Buffer.from(text, "base64").toString("base64");
}
