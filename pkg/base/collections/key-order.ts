/**
 * Keys order by their UTF-8 bytes. JavaScript compares UTF-16 code units, which differs in one
 * place: a surrogate (0xD800-0xDFFF, half of a code point above 0xFFFF) must come after
 * 0xE000-0xFFFF.
 */

const surrogateOrAbove = /[\ud800-\uffff]/;
const everySurrogateOrAbove = /[\ud800-\uffff]/g;

/**
 * A string whose JavaScript order (`<`) among its like is the UTF-8 order of the keys. The same
 * string for every key without code units from 0xD800 on, and its own cost is then a few
 * nanoseconds.
 *
 * Example: "\uff01" < "\u{1f600}" in UTF-8; JavaScript says the reverse; sortable() restores it.
 */
export function sortable(key: string): string {
  return surrogateOrAbove.test(key) ? key.replace(everySurrogateOrAbove, surrogatesLast) : key;
}

/** The key that `sortable` made `text` from. */
export function unsortable(text: string): string {
  return surrogateOrAbove.test(text) ? text.replace(everySurrogateOrAbove, surrogatesFirst) : text;
}

function surrogatesLast(unit: string): string {
  const code = unit.charCodeAt(0);
  return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
}

function surrogatesFirst(unit: string): string {
  const code = unit.charCodeAt(0);
  return String.fromCharCode(code < 0xf800 ? code + 0x800 : code - 0x2000);
}
