import { assign, atOnce, type Slices } from "#base";
import { keepLiteral, dropLiteral } from "./json-literals.ts";
import { JsonReader } from "./json-reader.ts";

/** Maximum nesting depth of Go's encoding/json. */
export const maxDepth = 10_000;

/** Maximum number of reported duplicates, as in Kubernetes. */
const maxDuplicates = 100;

const maxInt64 = 2n ** 63n - 1n;
const minInt64 = -(2n ** 63n);

interface Frame {
  readonly container: Record<string, unknown> | unknown[];
  /** The key or index of the value being read. */
  step: string | number;
  /** Keys of this occurrence, if the object is merged into an earlier one. */
  readonly seen: Set<string> | undefined;
}

interface Result {
  readonly value: unknown;
  readonly duplicates: readonly string[];
  readonly literals: boolean;
}

/**
 * The slow, exact parser of `parseJson`: a loop with an explicit stack.
 */
export function parsePrecisely(text: string): Result {
  return atOnce(parsePreciselyInSlices(text));
}

export function parsePreciselyInSlices(text: string): Slices<Result> {
  return new PreciseParser(text).run();
}

/** Number of values per slice. */
const slice = 2_000;

class PreciseParser {
  private readonly reader: JsonReader;
  private readonly frames: Frame[] = [];
  private readonly duplicates = new Set<string>();
  private literals = false;
  private root: unknown;

  constructor(text: string) {
    this.reader = new JsonReader(text);
  }

  *run(): Slices<Result> {
    let read = 0;
    do {
      this.readValue();
      if (++read % slice === 0) yield;
    } while (this.frames.length > 0);
    this.reader.expectEnd();
    return { value: this.root, duplicates: [...this.duplicates], literals: this.literals };
  }

  /** Parses or opens one value, then closes all containers that end after it. */
  private readValue(): void {
    const { reader } = this;
    const unit = reader.peek();
    if (unit === 0x7b) {
      const before = this.objectBefore();
      if (this.open(before ?? {}, before === undefined ? undefined : new Set())) return;
    } else if (unit === 0x5b) {
      if (this.open([], undefined)) return;
    } else if (unit === 0x22) {
      this.place(reader.string());
    } else if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) {
      this.placeNumber(reader.number());
    } else {
      this.place(reader.word());
    }
    this.closeFinished();
  }

  /** Merges an object with a duplicate key into the first one, as Go decodes into the existing value. */
  private objectBefore(): Record<string, unknown> | undefined {
    const frame = this.frames.at(-1);
    if (frame === undefined || Array.isArray(frame.container)) return undefined;
    if (!Object.hasOwn(frame.container, frame.step)) return undefined;
    const before = frame.container[frame.step as string];
    return typeof before === "object" && before !== null && !Array.isArray(before)
      ? (before as Record<string, unknown>)
      : undefined;
  }

  /** True if a first element follows; false if the container is empty and already placed. */
  private open(container: Frame["container"], seen: Set<string> | undefined): boolean {
    const { reader, frames } = this;
    const isList = Array.isArray(container);
    if (frames.length >= maxDepth) throw reader.unexpected("exceeded max depth");
    reader.skip();
    this.place(container);
    const closing = isList ? 0x5d : 0x7d;
    if (reader.peek() === closing) {
      reader.skip();
      return false;
    }
    frames.push({ container, step: 0, seen });
    if (!isList) this.readKey();
    return true;
  }

  private readKey(): void {
    const { reader } = this;
    if (reader.peek() !== 0x22) {
      throw reader.unexpected("looking for beginning of object key string");
    }
    const frame = this.frames.at(-1) as Frame;
    frame.step = reader.string();
    if (reader.peek() !== 0x3a) throw reader.unexpected("after object key");
    reader.skip();
    const isTwice = frame.seen?.has(frame.step) ?? Object.hasOwn(frame.container, frame.step);
    frame.seen?.add(frame.step);
    if (isTwice && this.duplicates.size < maxDuplicates) this.duplicates.add(this.path());
  }

  private path(): string {
    let path = "";
    for (const { step } of this.frames) {
      path += typeof step === "number" ? `[${step}]` : path === "" ? step : `.${step}`;
    }
    return path;
  }

  private place(value: unknown): void {
    const frame = this.frames.at(-1);
    if (frame === undefined) this.root = value;
    else if (Array.isArray(frame.container)) frame.container[frame.step as number] = value;
    else {
      assign(frame.container, frame.step as string, value);
      if (this.literals) dropLiteral(frame.container, frame.step);
    }
  }

  private placeNumber(literal: string): void {
    const value = numberOf(literal);
    this.place(value);
    const frame = this.frames.at(-1);
    if (frame === undefined || String(value) === literal) return;
    this.literals = true;
    keepLiteral(frame.container, frame.step, literal);
  }

  private closeFinished(): void {
    const { reader, frames } = this;
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const isList = Array.isArray(frame.container);
      const where = isList ? "after array element" : "after object key:value pair";
      const unit = reader.peek();
      if (unit === 0x2c) {
        reader.skip();
        if (isList) frame.step = (frame.step as number) + 1;
        else this.readKey();
        return;
      }
      if (unit !== (isList ? 0x5d : 0x7d)) throw reader.unexpected(where);
      reader.skip();
      frames.pop();
    }
  }
}

/** A number, or a bigint for an integer beyond 2^53 that fits into 64 bits. */
function numberOf(literal: string): number | bigint {
  const value = Number(literal);
  if (Number.isSafeInteger(value) || literal.length > 20 || !/^-?\d+$/.test(literal)) return value;
  const exact = BigInt(literal);
  return exact >= minInt64 && exact <= maxInt64 ? exact : value;
}
