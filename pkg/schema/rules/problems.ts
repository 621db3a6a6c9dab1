import { append, atOnce, type Slices } from "#base";

/**
 * Field errors of validation (apimachinery's field.Error and field.ErrorList). They stay data until they are
 * rendered into the causes of a Status.
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
  /** Dotted path, as in `spec.ports[0].name`. The renderer writes `<nil>` for "". */
  readonly field: string;
  readonly value?: unknown;
  /** Whether Go prints the value quoted, as its type is string, and not as JSON. */
  readonly isQuoted?: boolean;
  readonly detail: string;
}

/** A field path (apimachinery's field.Path), formatted only when an error is reported. */
export class Path {
  private constructor(
    private readonly parent: Path | undefined,
    private readonly step: string | number,
    /** The step is the key of a map, which is written in brackets like an index. */
    private readonly isKey: boolean,
  ) {}

  static readonly root = new Path(undefined, "", false);

  /** `new Path` from a dotted string, for example `Path.of("spec.limits")`. */
  static of(dotted: string): Path {
    return new Path(undefined, dotted, false);
  }
  // Optional parameters, as a rest parameter would allocate a list at every call.
  child(name: string, second?: string, third?: string, fourth?: string): Path {
    const path = new Path(this, name, false);
    return second === undefined ? path : path.child(second, third, fourth);
  }
  index(index: number): Path {
    return new Path(this, index, false);
  }
  key(key: string): Path {
    return new Path(this, key, true);
  }
  toString(): string {
    const { parent, step } = this;
    if (parent === undefined) return String(step);
    const isInBrackets = this.isKey || typeof step === "number";
    const text = parent.toString() + (isInBrackets ? `[${step}]` : `.${step}`);
    return text.startsWith(".") ? text.slice(1) : text;
  }
}

const discardedProblem = { field: "", detail: "" };

/** A validation that reports into `problems`; an expensive one runs in slices. */
export type DeferredCheck = (problems: Problems) => Slices<void> | undefined | void;

/** Maximum number of problems per object with field and detail; further ones keep only their type. */
export const maxReportedProblems = 1_000;

/** Collects problems in the order in which the response lists them. */
export class Problems {
  #found: FieldProblem[] = [];
  #deferred: { readonly after: number; readonly check: DeferredCheck }[] = [];

  get list(): readonly FieldProblem[] {
    if (!this.isSettled) atOnce(this.settle());
    return this.#found;
  }
  /** Runs the deferred checks first, as `list` does. */
  get empty(): boolean {
    return this.list.length === 0;
  }
  /** Number of problems so far, without those of deferred checks. */
  get count(): number {
    return this.#found.length;
  }
  add(problem: FieldProblem): void {
    this.#found.push(problem);
  }
  /**
   * Defers an expensive check until `settle`, or until the list is read. Its problems are listed in the
   * place where `defer` was called.
   */
  defer(check: DeferredCheck): void {
    this.#deferred.push({ after: this.#found.length, check });
  }
  /** True if no check is deferred. */
  get isSettled(): boolean {
    return this.#deferred.length === 0;
  }
  /** Runs the deferred checks in slices. */
  *settle(): Slices<void> {
    if (this.isSettled) return;
    const all: FieldProblem[] = [];
    let taken = 0;
    for (const { after, check } of this.#deferred) {
      append(all, this.#found.slice(taken, after));
      taken = after;
      const found = new Problems();
      const slices = check(found);
      if (slices !== undefined) yield* slices;
      yield;
      yield* found.settle();
      append(all, found.list);
    }
    append(all, this.#found.slice(taken));
    this.#found = all;
    this.#deferred = [];
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
   * `Unsupported value: "x": supported values: "A", "B"`, with the supported values sorted. The value has a
   * Go type of its own, which is printed as JSON.
   */
  notSupported(path: Path, value: unknown, supported: Iterable<string>): void {
    this.note("FieldValueNotSupported", path, { value, detail: supportedValues(supported) });
  }
  /** As `notSupported`, for a value of Go's type string. */
  notSupportedText(path: Path, value: string, supported: Iterable<string>): void {
    const detail = supportedValues(supported);
    this.note("FieldValueNotSupported", path, { value, isQuoted: true, detail });
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
    const isReported = this.#found.length < maxReportedProblems;
    this.#found.push(
      isReported ? { type, field: path.toString(), ...more } : { type, ...discardedProblem },
    );
  }
}

function supportedValues(supported: Iterable<string>): string {
  const names = [...supported].sort();
  return names.length > 0 ? `supported values: ${names.map(quoted).join(", ")}` : "";
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
