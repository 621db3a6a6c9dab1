import { randomUUID } from "node:crypto";

/**
 * Whether this V8 may read a key that has an escape as another key, one that it has seen at the same
 * place before: from 13 on, Node 24 and 26 (nodejs/node#63785).
 */
const mistakesKeys = ((): boolean => {
  JSON.parse('{"keelson":[],"\\\\":0}');
  return !("\n" in (JSON.parse('{"keelson":1,"\\n":0}') as object));
})();

/** No text of a client contains it. */
const secret = randomUUID();

/**
 * `JSON.parse`, safe from V8's mistake: keys with escapes are parsed under names without any, and
 * renamed afterwards. A text without escapes in keys costs one search for a backslash, or one pass.
 */
export function parseJsonText(text: string): unknown {
  if (!mistakesKeys || !text.includes("\\")) return JSON.parse(text);
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

/** The text with each key that has an escape replaced by a name; adds the keys by name. */
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

/** A text alone is read right; undefined = it is no string. */
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

/** Whether an odd number of backslashes stands before. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 0x5c) before -= 1;
  return (at - before) % 2 === 0;
}

/** Whether a colon is what comes next, after white space. */
function isKey(text: string, at: number): boolean {
  let next = at;
  while (" \t\n\r".includes(text.charAt(next)) && next < text.length) next += 1;
  return text.charCodeAt(next) === 0x3a;
}

/** Gives the keys of all objects in the value their own names, in their order. */
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
