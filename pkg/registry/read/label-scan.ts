/**
 * Reads the labels of a stored object without decoding it: a label selector over many objects needs
 * only these, and they are near the start of the bytes.
 */

import { parseJsonText } from "#base";

export type Labels = Readonly<Record<string, string>>;

const none: Labels = Object.freeze({});
const quote = 0x22;
const backslash = 0x5c;
const openObject = 0x7b;
const closeObject = 0x7d;
const openList = 0x5b;
const closeList = 0x5d;
const comma = 0x2c;
const colon = 0x3a;
const metadataStart = Buffer.from('"metadata":{');
/** Offset in bytes within which `metadata` starts, if it directly follows kind and apiVersion. */
const nearBytes = 200;

/**
 * The labels of an object that is stored as JSON without white space, as API servers write it;
 * undefined for other encodings and malformed labels, which the caller must decode.
 */
export function labelsIn(bytes: Uint8Array): Labels | undefined {
  if (bytes[0] !== openObject) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const metadata = text.subarray(0, nearBytes).indexOf(metadataStart);
  if (metadata < 0) return undefined;
  let at = metadata + metadataStart.length;
  if (text[at] === closeObject) return none;
  for (;;) {
    if (text[at] !== quote) return undefined;
    const keyEnd = text.indexOf(quote, at + 1);
    if (keyEnd < 0 || text[keyEnd + 1] !== colon) return undefined;
    const isLabels = keyEnd - at === 7 && text.toString("latin1", at + 1, keyEnd) === "labels";
    const end = endOfValue(text, keyEnd + 2);
    if (end < 0) return undefined;
    if (isLabels) return parseLabels(text.toString("utf8", keyEnd + 2, end));
    if (text[end] === closeObject) return none;
    if (text[end] !== comma) return undefined;
    at = end + 1;
  }
}

/** Parses the value of `labels`; undefined unless it is a map of strings. */
function parseLabels(text: string): Labels | undefined {
  try {
    const value: unknown = parseJsonText(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const strings = Object.values(value).every((each) => typeof each === "string");
    return strings ? (value as Labels) : undefined;
  } catch {
    return undefined;
  }
}

/** Offset after the value that starts at `start`; -1 for text that is not compact JSON. */
function endOfValue(text: Buffer, start: number): number {
  const first = text[start];
  if (first === quote) return endOfString(text, start);
  if (first !== openObject && first !== openList) return endOfLiteral(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const byte = text[at];
    if (byte === quote) {
      at = endOfString(text, at) - 1;
      if (at < 0) return -1;
    } else if (byte === openObject || byte === openList) {
      depth += 1;
    } else if (byte === closeObject || byte === closeList) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

function endOfString(text: Buffer, start: number): number {
  let end = text.indexOf(quote, start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf(quote, end + 1);
  return end < 0 ? -1 : end + 1;
}

/** Whether an odd number of backslashes precedes the offset. */
function isEscaped(text: Buffer, at: number): boolean {
  let before = at - 1;
  while (text[before] === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

/** Offset after a number, boolean or null. */
function endOfLiteral(text: Buffer, start: number): number {
  for (let at = start; at < text.length; at++) {
    const byte = text[at];
    if (byte === comma || byte === closeObject) return at > start ? at : -1;
  }
  return -1;
}
