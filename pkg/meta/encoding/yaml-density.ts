/**
 * Whether a YAML text has more than `most` separators (line breaks, commas, colons, opening brackets)
 * outside of block scalars, quotes and comments, which determine the time of parsing. Separators in
 * plain scalars are included.
 */
export function hasMoreSeparators(text: string, most: number): boolean {
  if (text.length <= most) return false;
  let count = 0;
  let previous = newline;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x20) continue;
    if (unit === newline) {
      if (opensBlock(text, at)) at = endOfBlock(text, at) - 1;
      count++;
    } else if ((unit === 0x22 || unit === 0x27) && mayBegin(previous)) {
      at = endOfQuotes(text, at, text.charAt(at));
    } else if (unit === 0x23 && (previous === newline || text.charCodeAt(at - 1) === 0x20)) {
      const end = text.indexOf("\n", at);
      at = (end < 0 ? text.length : end) - 1;
      continue;
    } else if (unit === 0x2c || unit === 0x3a || unit === 0x5b || unit === 0x7b) count++;
    if (count > most) return true;
    previous = unit;
  }
  return false;
}

const newline = 0x0a;

/** Whether a scalar can start after the character: a separator, dash, question mark or line break. */
function mayBegin(previous: number): boolean {
  return (
    previous === newline ||
    previous === 0x2c ||
    previous === 0x3a ||
    previous === 0x5b ||
    previous === 0x7b ||
    previous === 0x2d ||
    previous === 0x3f
  );
}

function endOfQuotes(text: string, start: number, quote: string): number {
  let end = text.indexOf(quote, start + 1);
  if (quote === '"') {
    while (end > 0 && isEscaped(text, end)) end = text.indexOf(quote, end + 1);
  }
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}

/** Whether the line that ends at `end` opens a block scalar (`key: |`, `- >-`). */
function opensBlock(text: string, end: number): boolean {
  const last = text.charCodeAt(end - 1);
  // `|`, `>`, and behind them `+`, `-`, a digit, a blank or a carriage return.
  if (![0x7c, 0x3e, 0x2b, 0x2d, 0x20, 0x0d].includes(last) && !(last > 0x30 && last <= 0x39)) {
    return false;
  }
  return /(?:^|[\s:-])[|>][-+1-9]{0,2}\s*$/.test(text.slice(Math.max(0, end - 16), end));
}

/** The end of a block scalar, whose lines are indented at least as far as its first one. */
function endOfBlock(text: string, end: number): number {
  const start = text.lastIndexOf("\n", end - 1) + 1;
  const [before = ""] =
    /^[ ]*(?:[-?] +)*/.exec(text.slice(start, Math.min(end, start + 4096))) ?? [];
  let indentation = -1;
  let at = end + 1;
  while (at < text.length) {
    let first = at;
    while (text.charCodeAt(first) === 0x20) first++;
    const isBlank = text.charCodeAt(first) === newline || first === text.length;
    if (!isBlank) {
      if (indentation < 0) indentation = first - at;
      // Behind `- `, a scalar may begin right of the dash.
      if (first - at < indentation || indentation <= before.search(/[-?]|$/)) break;
    }
    const next = text.indexOf("\n", first);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
}
