import { assert, assign, atOnce, deepClone, type Slices } from "#base";
import {
  type AliasEvent,
  type Event,
  EVENT_ID,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
  YAMLException,
} from "js-yaml";
import { TooManyValues } from "#schema";
import { goQuote } from "./go-quote.ts";
import { resolveScalar } from "./yaml-scalars.ts";

/**
 * Malformed YAML, or YAML that cannot be converted to JSON; the message starts with `yaml: ` and names
 * the line.
 */
export class YamlFault extends Error {
  override readonly name = "YamlFault";
}

interface ParsedEvents {
  /** What the events' offsets are into; its lines are those of the text. */
  readonly source: string;
  readonly events: readonly Event[];
}

export interface ParsedYaml {
  /** A JSON value; keys of other types have become texts. */
  readonly value: unknown;
  /** Keys given twice, the last of which won: `line 6: key "a" already set in map`. */
  readonly duplicates: readonly string[];
}

const maxNesting = 1_000;

/**
 * Parses the first document of a YAML text as Kubernetes does. Aliases are expanded as long as
 * they do not make most of a large document.
 *
 * @param maxValues most keys, list elements and scalars that the text may have
 * @throws YamlFault
 * @throws TooManyValues
 */
export function parseYaml(text: string, maxValues = Number.POSITIVE_INFINITY): ParsedYaml {
  return atOnce(parseYamlInSlices(text, maxValues));
}

/** As `parseYaml`, in slices; the first one, which scans the text, is the longest. */
export function* parseYamlInSlices(text: string, maxValues: number): Slices<ParsedYaml> {
  const parsed = yield* eventsOf(firstDocument(text));
  yield;
  return yield* new Builder(parsed, maxValues).build();
}

/** Maximum number of characters that are parsed again after lines were indented. */
const maxReparsed = 1_000_000;

/**
 * In flow collections and quotes, go-yaml accepts lines with less indentation than this parser. Such
 * lines are indented until they parse; the added space has no meaning there.
 */
function* eventsOf(source: string): Slices<ParsedEvents> {
  let first: YAMLException | undefined;
  let moved = source;
  for (let parsed = 0; parsed <= maxReparsed; parsed += source.length) {
    try {
      return { source: moved, events: parseEvents(moved, { maxDepth: maxNesting }) };
    } catch (error) {
      if (!(error instanceof YAMLException)) throw error;
      first ??= error;
      if (error.reason !== "deficient indentation" || error.mark === undefined) break;
      moved = indentLine(moved, error.mark.position);
    }
    yield;
  }
  assert(first !== undefined, "only a fault ends the loop");
  throw syntaxFault(first, source);
}

/** Indents the line at `position` more than the line before it. */
function indentLine(source: string, position: number): string {
  const start = source.lastIndexOf("\n", position - 1) + 1;
  const before = source.slice(0, start).trimEnd();
  const above = before.slice(before.lastIndexOf("\n") + 1);
  // Dashes begin sequences, whose elements are further in.
  const [indentation = ""] = /^[ -]*/.exec(above) ?? [];
  return `${source.slice(0, start)} ${" ".repeat(indentation.length)}${source.slice(start)}`;
}

/**
 * The first document: `---` and `...` at the start of a line end a document in any context.
 */
function firstDocument(text: string): string {
  let started = false;
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(start, end);
    const isMarker = /^(---|\.\.\.)(\s|$)/.test(line);
    if (isMarker && started) return text.slice(0, start);
    if (isMarker ? line.startsWith("---") : !/^\s*(#|$)|^%/.test(line)) started = true;
    start = end;
  }
  return text;
}

type ScalarValue = string | number | bigint | boolean | null;

interface Node {
  readonly value: unknown;
  /** Values it consists of, aliases counted as what they stand for. */
  readonly size: number;
  /** Line of its first character, from 1. */
  readonly line: number;
  readonly isMerge: boolean;
}

/** A list or map under construction. */
interface Collection {
  readonly event: SequenceEvent | MappingEvent;
  readonly value: unknown[] | Record<string, unknown>;
  size: number;
  /** The key whose value comes next. */
  key: Node | undefined;
}

/** Number of events per slice. */
const slice = 2_000;

/** Builds values from parser events. */
class Builder {
  private readonly open: Collection[] = [];
  private root: Node | undefined;
  private readonly anchors = new Map<string, Node>();
  private readonly duplicates: string[] = [];
  private readonly lineStarts: readonly number[];
  private decoded = 0;
  private aliased = 0;

  private readonly source: string;
  private readonly events: readonly Event[];

  constructor(
    { source, events }: ParsedEvents,
    private readonly maxValues: number,
  ) {
    if (events.length > 2 * maxValues) throw new TooManyValues();
    this.source = source;
    this.events = events;
    const starts = [0];
    for (let i = source.indexOf("\n"); i >= 0; i = source.indexOf("\n", i + 1)) starts.push(i + 1);
    this.lineStarts = starts;
  }

  *build(): Slices<ParsedYaml> {
    const { events, duplicates } = this;
    const start = events[0]?.type === EVENT_ID.DOCUMENT ? 1 : 0;
    const isEmpty = (events[start]?.type ?? EVENT_ID.POP) === EVENT_ID.POP;
    if (isEmpty) return { value: null, duplicates };
    for (let at = start; at < events.length; at++) {
      this.read(events[at] as Event);
      if (this.root !== undefined) return { value: this.root.value, duplicates };
      if (at % slice === 0) yield;
    }
    throw new YamlFault("yaml: unexpected end of document");
  }

  private read(event: Event): void {
    switch (event.type) {
      case EVENT_ID.SCALAR:
        return this.place(this.anchored(event, this.scalar(event)));
      case EVENT_ID.SEQUENCE:
        return void this.open.push({ event, value: [], size: 1, key: undefined });
      case EVENT_ID.MAPPING:
        return void this.open.push({ event, value: {}, size: 1, key: undefined });
      case EVENT_ID.ALIAS:
        return this.place(this.alias(event));
      case EVENT_ID.POP:
        return this.close();
      default:
        throw new YamlFault("yaml: unexpected end of document");
    }
  }

  private close(): void {
    const collection = this.open.pop();
    assert(collection !== undefined, "what ends has begun");
    const { event, value, size } = collection;
    const node = { value, size, line: this.lineOf(event.start), isMerge: false };
    this.place(this.anchored(event, node));
  }

  /** Puts a value into the innermost open collection. */
  private place(node: Node): void {
    const into = this.open.at(-1);
    if (into === undefined) {
      this.root = node;
      return;
    }
    into.size += node.size;
    if (Array.isArray(into.value)) {
      into.value.push(node.value);
    } else if (into.key === undefined) {
      into.key = node;
    } else {
      if (into.key.isMerge) mergeInto(into.value, node.value);
      else this.set(into.value, into.key, node);
      into.key = undefined;
    }
  }

  private anchored(event: ScalarEvent | SequenceEvent | MappingEvent, node: Node): Node {
    this.count(1, 0);
    if (event.anchorStart < 0) return node;
    const name = this.source.slice(event.anchorStart, event.anchorEnd).replace(/^&/, "");
    if (name !== "") this.anchors.set(name, node);
    return node;
  }

  private alias(event: AliasEvent): Node {
    const name = this.source.slice(event.anchorStart, event.anchorEnd).replace(/^\*/, "");
    const target = this.anchors.get(name);
    if (target === undefined) throw new YamlFault(`yaml: unknown anchor '${name}' referenced`);
    this.count(target.size, target.size);
    return { ...target, value: deepClone(target.value), line: this.lineOf(event.anchorStart) };
  }

  /** The reference's own guard: aliases may make up less and less of a document as it grows. */
  private count(nodes: number, fromAliases: number): void {
    this.decoded += nodes;
    if (this.decoded > this.maxValues) throw new TooManyValues();
    this.aliased += fromAliases;
    if (this.aliased <= 100 || this.decoded <= 1_000) return;
    const growth = Math.min(1, Math.max(0, (this.decoded - 400_000) / 3_600_000));
    if (this.aliased / this.decoded > 0.99 - 0.89 * growth) {
      throw new YamlFault("yaml: document contains excessive aliasing");
    }
  }

  private scalar(event: ScalarEvent): Node {
    const text = getScalarValue(this.source, event);
    const line = this.lineOf(event.valueStart);
    const explicit = event.tagStart >= 0 ? this.source.slice(event.tagStart, event.tagEnd) : "";
    const quoted = event.style !== SCALAR_STYLE.PLAIN;
    const { value, isMerge } = scalarValue(text, quoted, explicit);
    return { value, size: 1, line, isMerge };
  }

  private set(target: Record<string, unknown>, key: Node, inner: Node): void {
    const name = keyText(key.value);
    if (Object.hasOwn(target, name)) {
      const shown = typeof key.value === "string" ? goQuote(key.value) : String(key.value);
      this.duplicates.push(`line ${inner.line}: key ${shown} already set in map`);
    }
    assign(target, name, inner.value);
  }

  private lineOf(offset: number): number {
    let low = 0;
    let high = this.lineStarts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  }
}

function scalarValue(
  text: string,
  quoted: boolean,
  tag: string,
): { readonly value: unknown; readonly isMerge: boolean } {
  if (quoted && tag === "") return { value: text, isMerge: false };
  const name = tag.replace(/^(!!|!<tag:yaml\.org,2002:)/, "").replace(/>$/, "");
  const isText = tag === "!" || name === "str";
  if (isText) return { value: text, isMerge: false };
  if (name === "binary") {
    return { value: Buffer.from(text, "base64").toString("utf8"), isMerge: false };
  }
  const { kind, value } = resolveScalar(text);
  if (typeof value === "number" && !Number.isFinite(value)) {
    const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw new YamlFault(`json: unsupported value: ${shown}`);
  }
  return { value, isMerge: kind === "merge" };
}

/** Converts a scalar key to a string, as JSON requires. @throws YamlFault for other keys */
function keyText(key: unknown): string {
  const scalar = key as ScalarValue | object;
  if (typeof scalar === "string") return scalar;
  if (scalar === null || typeof scalar === "object") {
    const type = scalar === null ? "%!s(<nil>)" : Array.isArray(scalar) ? "slice" : "map";
    throw new YamlFault(`unsupported map key of type: ${type}`);
  }
  return String(scalar);
}

/** Merge key (`<<: *base`): adds the keys of one or several mappings. */
function mergeInto(target: Record<string, unknown>, source: unknown): void {
  if (Array.isArray(source)) {
    // The first of several wins, so it comes last.
    for (const element of [...source].reverse()) mergeInto(target, element);
    return;
  }
  if (typeof source !== "object" || source === null) {
    throw new YamlFault("yaml: map merge requires map or sequence of maps as the value");
  }
  for (const [key, value] of Object.entries(source)) assign(target, key, value);
}

interface Reason {
  readonly pattern: RegExp;
  readonly words: string;
}

/** go-yaml's messages for the parser's common errors. */
const reasons: readonly Reason[] = [
  {
    pattern: /tab|cannot start any token|reserved indicator/i,
    words: "found character that cannot start any token",
  },
  {
    pattern: /bad indentation of a mapping entry|can not read a block mapping entry/i,
    words: "mapping values are not allowed in this context",
  },
  {
    pattern: /bad indentation of a sequence entry/i,
    words: "did not find expected '-' indicator",
  },
  { pattern: /maxDepth/, words: `exceeded max depth of ${maxNesting}` },
];

function syntaxFault(error: YAMLException, source: string): YamlFault {
  const line = error.mark?.line ?? 0;
  const position = error.mark?.position ?? source.length;
  const open = openBracket(source.slice(0, position));
  if (open !== undefined && /deficient|flow|missed comma|node content/.test(error.reason)) {
    // Such faults are reported one line early, counted as if the text ended with a line break.
    const atEnd = source.slice(position).trim() === "" && !source.endsWith("\n");
    const words = /[,[{]\s*$/.test(source.slice(0, position))
      ? "did not find expected node content"
      : `did not find expected ',' or '${open}'`;
    return new YamlFault(`yaml: line ${Math.max(1, atEnd ? line + 1 : line)}: ${words}`);
  }
  const lines = source.split("\n");
  if (/quoted scalar|deficient indentation/.test(error.reason)) {
    return new YamlFault(`yaml: ${scannedLine(lines.length - 1)}found unexpected end of stream`);
  }
  const column = position - (source.lastIndexOf("\n", position - 1) + 1);
  const block = blockFault(lines, { line, column });
  if (block !== undefined) return new YamlFault(block);
  if (/tab characters/.test(error.reason) && endsPlain(source.split("\n")[line - 1] ?? "")) {
    const why = "found a tab character that violates indentation";
    return new YamlFault(`yaml: line ${line + 1}: ${why}`);
  }
  const words = reasons.find(({ pattern }) => pattern.test(error.reason))?.words ?? error.reason;
  return new YamlFault(`yaml: ${scannedLine(line)}${words}`);
}

/** The line of a fault of go-yaml's scanner, which does not name the first line. */
function scannedLine(line: number): string {
  return line === 0 ? "" : `line ${line + 1}: `;
}

/**
 * The fault of an entry that does not fit into the blocks above it: one that begins with a
 * reserved indicator, or one with an indentation that no open block has. undefined for all others.
 */
function blockFault(
  lines: readonly string[],
  { line, column }: { readonly line: number; readonly column: number },
): string | undefined {
  const text = lines[line] ?? "";
  if (/[@`]/.test(text[column] ?? "") || (column > 0 && text[column] === "%")) {
    return `yaml: ${scannedLine(line)}found character that cannot start any token`;
  }
  const indent = text.search(/[^ ]/);
  if (line === 0 || indent < column || !/^(- |[^\s#]+:( |$))/.test(text.slice(indent))) {
    return undefined;
  }
  const entry = blockEntry(lines, line, indent);
  if (entry === undefined) return undefined;
  const isSequence = entry.trimStart().startsWith("- ");
  const words = isSequence ? "did not find expected '-' indicator" : "did not find expected key";
  // The parser of go-yaml counts lines from 0.
  return `yaml: line ${line}: ${words}`;
}

/** The last entry of the innermost block that is still open at a line with this indentation. */
function blockEntry(lines: readonly string[], line: number, indent: number): string | undefined {
  return lines.slice(0, line).findLast((text) => {
    const own = text.search(/[^ ]/);
    return own >= 0 && own <= indent && text[own] !== "#";
  });
}

/** Whether the line ends in a plain scalar, which the next line could continue. */
function endsPlain(line: string): boolean {
  return !line.includes("#") && /[^\s:\-,"'|>[\]{}]\s*$/.test(line);
}

/** The closing bracket of the innermost open flow collection at the end of the text. */
function openBracket(text: string): string | undefined {
  const open: string[] = [];
  for (const [found] of text.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[[\]{}]/gs)) {
    if (found === "[") open.push("]");
    else if (found === "{") open.push("}");
    else if (found === "]" || found === "}") open.pop();
  }
  return open.at(-1);
}
