import { append, atOnce, type Slices } from "#base";

/**
 * Field problems: data until they are rendered once into a Status's causes (source: Kubernetes'
 * field.Error).
 */

export type ProblemType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "InternalError";

export interface FieldProblem {
  readonly type: ProblemType;
  /**
   * Dotted path as Kubernetes writes it: `spec.ports[0].name`, `metadata.labels`; `<nil>` is
   * written by the renderer for "".
   */
  readonly field: string;
  readonly value?: unknown;
  readonly detail: string;
}

/** A field path, formatted only for problems. */
export class Path {
  private constructor(
    private readonly parent: Path | undefined,
    private readonly step: string,
  ) {}

  static readonly root = new Path(undefined, "");

  /** `new Path` from a dotted string, for example `Path.of("spec.limits")`. */
  static of(dotted: string): Path {
    return new Path(undefined, dotted);
  }
  child(name: string, ...below: readonly string[]): Path {
    let path = new Path(this, `.${name}`);
    for (const each of below) path = new Path(path, `.${each}`);
    return path;
  }
  index(index: number): Path {
    return new Path(this, `[${index}]`);
  }
  key(key: string): Path {
    return new Path(this, `[${key}]`);
  }
  toString(): string {
    const text = (this.parent?.toString() ?? "") + this.step;
    return text.startsWith(".") ? text.slice(1) : text;
  }
}

const discardedProblem = { field: "", detail: "" };

/** Looks at something, in slices if that takes long, and adds what is wrong with it. */
export type Look = (problems: Problems) => Slices<void> | undefined | void;

/** Maximum number of reported problems per object; further ones are only counted. */
export const maxReportedProblems = 1_000;

/** Collects problems in the order of the response. */
export class Problems {
  #found: FieldProblem[] = [];
  #later: { readonly after: number; readonly look: Look }[] = [];

  get list(): readonly FieldProblem[] {
    if (!this.isSettled) atOnce(this.settle());
    return this.#found;
  }
  get empty(): boolean {
    return this.list.length === 0;
  }
  /** How many have been found so far, without those of looks that are left for later. */
  get count(): number {
    return this.#found.length;
  }
  add(problem: FieldProblem): void {
    this.#found.push(problem);
  }
  /**
   * Leaves a look that takes long for when all problems are asked for, or for `settle`. What it
   * finds comes where it would have come now.
   */
  later(look: Look): void {
    this.#later.push({ after: this.#found.length, look });
  }
  /** Nothing was left for later, as nearly always. */
  get isSettled(): boolean {
    return this.#later.length === 0;
  }
  /** Does what was left for later, one slice of a look at a time. */
  *settle(): Slices<void> {
    if (this.isSettled) return;
    const all: FieldProblem[] = [];
    let taken = 0;
    for (const { after, look } of this.#later) {
      append(all, this.#found.slice(taken, after));
      taken = after;
      const found = new Problems();
      const slices = look(found);
      if (slices !== undefined) yield* slices;
      yield;
      yield* found.settle();
      append(all, found.list);
    }
    append(all, this.#found.slice(taken));
    this.#found = all;
    this.#later = [];
  }
  required(path: Path, detail = ""): void {
    this.note("FieldValueRequired", path, { detail });
  }
  invalid(path: Path, value: unknown, detail: string): void {
    this.note("FieldValueInvalid", path, { value, detail });
  }
  forbidden(path: Path, detail: string): void {
    this.note("FieldValueForbidden", path, { detail });
  }
  duplicate(path: Path, value: unknown): void {
    this.note("FieldValueDuplicate", path, { value, detail: "" });
  }
  notFound(path: Path, value: unknown): void {
    this.note("FieldValueNotFound", path, { value, detail: "" });
  }
  /**
   * `Unsupported value: "x": supported values: "A", "B"`; the list is sorted as Kubernetes sorts
   * it.
   */
  notSupported(path: Path, value: unknown, supported: Iterable<string>): void {
    const names = [...supported].sort();
    const detail = names.length > 0 ? `supported values: ${names.map(quoted).join(", ")}` : "";
    this.note("FieldValueNotSupported", path, { value, detail });
  }
  tooLong(path: Path, value: unknown, maxBytes: number): void {
    const limit = `may not be more than ${maxBytes} ${maxBytes === 1 ? "byte" : "bytes"}`;
    const detail = maxBytes < 0 ? "value is too long" : limit;
    this.note("FieldValueTooLong", path, { value, detail });
  }
  tooMany(path: Path, actual: number, maximum: number): void {
    const limit = `must have at most ${maximum} ${maximum === 1 ? "item" : "items"}`;
    const detail = maximum < 0 ? "has too many items" : limit;
    this.note("FieldValueTooMany", path, { value: actual, detail });
  }

  private note(type: ProblemType, path: Path, more: Omit<FieldProblem, "type" | "field">): void {
    const isTold = this.#found.length < maxReportedProblems;
    this.#found.push(
      isTold ? { type, field: path.toString(), ...more } : { type, ...discardedProblem },
    );
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
