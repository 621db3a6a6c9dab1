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
import { maxNesting, preambleFault, scannedLine, syntaxFault, YamlFault } from "./yaml-faults.ts";
import { goSyntax, resolveScalar, resolveTagged } from "./yaml-scalars.ts";

export { YamlFault };

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

/** As `parseYaml`, in slices; the second one, in which js-yaml reads the text, is the longest. */
export function* parseYamlInSlices(text: string, maxValues: number): Slices<ParsedYaml> {
  if (controlCharacter.test(text)) throw new YamlFault("yaml: control characters are not allowed");
  const source = firstDocument(text);
  const fault = preambleFault(source);
  if (fault !== undefined) throw fault;
  yield;
  const parsed = yield* eventsOf(source);
  yield;
  return yield* new Builder(parsed, maxValues).build();
}

/** All but tab, line feed, carriage return and next line. */
const controlCharacter = /[^\P{Cc}\t\n\r\u0085]/u;

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

/** An escape of double quotes; groups: digits of \u, digits of \U. */
const escape = /\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|.)/gs;

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
    if (event.style === SCALAR_STYLE.DOUBLE_QUOTED) this.checkEscapes(event);
    const { value, isMerge } = scalarValue(text, quoted, explicit);
    return { value, size: 1, line, isMerge };
  }

  /** JSON and this parser accept halves of surrogate pairs, go-yaml does not. */
  private checkEscapes({ valueStart, valueEnd }: ScalarEvent): void {
    const written = this.source.slice(valueStart, valueEnd);
    if (!/\\u[dD]|\\U/.test(written)) return;
    for (const { 1: short, 2: long, index } of written.matchAll(escape)) {
      const code = Number.parseInt(short ?? long ?? "0", 16);
      if (code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)) continue;
      const line = scannedLine(this.lineOf(valueStart + index) - 1);
      throw new YamlFault(`yaml: ${line}found invalid Unicode character escape code`);
    }
  }

  private set(target: Record<string, unknown>, key: Node, inner: Node): void {
    const name = keyText(key.value, inner.value);
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
  if (name === "binary") return { value: binaryText(text), isMerge: false };
  const { kind, value } = name === "" ? resolveScalar(text) : resolveTagged(text, name);
  if (typeof value === "number" && !Number.isFinite(value)) {
    const shown = Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    throw new YamlFault(`json: unsupported value: ${shown}`);
  }
  return { value, isMerge: kind === "merge" };
}

/** Base64 with padding and without spaces, in which line breaks have no meaning. */
const base64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

function binaryText(text: string): string {
  if (!base64.test(text.replaceAll(/[\r\n]/g, ""))) {
    throw new YamlFault("yaml: !!binary value contains invalid base64 data");
  }
  return Buffer.from(text, "base64").toString("utf8");
}

/** Converts a scalar key to a string, as JSON requires. @throws YamlFault for other keys */
function keyText(key: unknown, value: unknown): string {
  const scalar = key as ScalarValue | object;
  if (typeof scalar === "string") return scalar;
  if (scalar === null) {
    const shown = `key: <nil>, value: ${goSyntax(value)}`;
    throw new YamlFault(`unsupported map key of type: %!s(<nil>), ${shown}`);
  }
  if (typeof scalar === "object") {
    throw new YamlFault(`yaml: invalid map key: ${goSyntax(scalar)}`);
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
