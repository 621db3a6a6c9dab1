import { randomUuid } from "../uuid.ts";

/**
 * Whether V8 has the bug that JSON.parse may read a key with an escape as another key that it has seen
 * at the same position before: V8 13 and later, Node 24 and 26 (nodejs/node#63785).
 */
const hasKeyBug = ((): boolean => {
  JSON.parse('{"keelson":[],"\\\\":0}');
  return !("\n" in (JSON.parse('{"keelson":1,"\\n":0}') as object));
})();

/** Prefix of placeholder keys, which clients cannot guess. */
const secret = randomUuid();

/**
 * `JSON.parse` with a workaround for V8's bug: keys with escapes are replaced by placeholders, and
 * restored after parsing. Without escapes in keys it costs one search for a backslash, or one pass.
 */
export function parseJsonText(text: string): unknown {
  if (!hasKeyBug || !text.includes("\\")) return JSON.parse(text);
  const names = new Map<string, string>();
  const marked = withMarkedKeys(text, names);
  if (names.size === 0) return JSON.parse(text);
  let value: unknown;
  try {
    value = JSON.parse(marked);
  } catch (error) {
    // For the position in the text itself.
    JSON.parse(text);
    throw error;
  }
  renameKeys(value, names);
  return value;
}

/** Replaces each key with an escape by a placeholder; adds the keys by placeholder to `names`. */
function withMarkedKeys(text: string, names: Map<string, string>): string {
  const parts: string[] = [];
  let copied = 0;
  let slash = text.indexOf("\\");
  for (let start = text.indexOf('"'); start >= 0;) {
    const end = endOfString(text, start);
    if (end < 0) break;
    if (slash >= 0 && slash < start) slash = text.indexOf("\\", start);
    if (slash < 0) break;
    if (slash < end && isKey(text, end + 1)) {
      const name = `${secret}${names.size}`;
      const key = decoded(text.slice(start, end + 1));
      if (key === undefined) return text;
      names.set(name, key);
      parts.push(text.slice(copied, start), `"${name}"`);
      copied = end + 1;
    }
    start = text.indexOf('"', end + 1);
  }
  parts.push(text.slice(copied));
  return parts.join("");
}

/** The value of a single string literal, which V8 parses correctly; undefined if it is malformed. */
function decoded(string: string): string | undefined {
  try {
    return JSON.parse(string) as string;
  } catch {
    return undefined;
  }
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether the character follows an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 0x5c) before -= 1;
  return (at - before) % 2 === 0;
}

/** Whether the next character after white space is a colon. */
function isKey(text: string, at: number): boolean {
  let next = at;
  while (" \t\n\r".includes(text.charAt(next)) && next < text.length) next += 1;
  return text.charCodeAt(next) === 0x3a;
}

/** Restores the placeholder keys of all objects in the value, in order. */
function renameKeys(root: unknown, names: ReadonlyMap<string, string>): void {
  const pending: unknown[] = [root];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== "object" || value === null) continue;
    const entries = Object.entries(value);
    for (const [, inner] of entries) if (typeof inner === "object") pending.push(inner);
    if (Array.isArray(value) || !entries.some(([key]) => names.has(key))) continue;
    const object = value as Record<string, unknown>;
    for (const [key] of entries) delete object[key];
    for (const [key, inner] of entries) {
      Object.defineProperty(object, names.get(key) ?? key, {
        value: inner,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }
}
