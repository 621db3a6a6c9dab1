import type { JsonObject } from "#base";
import { goQuote, printJson } from "#meta";
import type { FieldProblem, Problems } from "#schema";
import { patternOf } from "./patterns.ts";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { Correlated } from "./correlated.ts";
import { formatCheck } from "../formats/formats.ts";
import { inGoOrder } from "./go-order.ts";
import { MOST_TOLD } from "../schema/limits.ts";
import { isInteger, isJsonInteger, numberFaults } from "./number-rules.ts";

/**
 * Validates a value against its schema, without CEL rules. Errors are ordered by kind as in the
 * reference implementation; each error is reported once.
 */
export function checkValue(
  value: unknown,
  schema: CompiledSchema,
  {
    prefix = "",
    old,
    problems,
  }: {
    /** What comes before the path in fields of problems, though not in their texts. */
    readonly prefix?: string;
    /** What the value was before an update; faults in what is the same are forgiven. */
    readonly old?: unknown;
    readonly problems: Problems;
  },
): void {
  const walk = new ValueWalk(prefix);
  walk.check(value, schema, undefined);
  if (walk.found.length === 0) return;
  if (old === undefined) return tell(walk.found, problems);
  // Most updates have no fault, so that it does not pay to compare on the way.
  const again = new ValueWalk(prefix);
  const correlated = new Correlated(value, old, schema);
  again.check(value, schema, correlated);
  if (!correlated.isUnchanged) tell(again.found, problems);
}

function tell(found: readonly FieldProblem[], problems: Problems): void {
  const told = new Set<string>();
  for (const problem of found) {
    const text = `${problem.field}\n${problem.type}\n${problem.detail}`;
    if (told.has(text)) continue;
    told.add(text);
    problems.add(problem);
  }
}

/**
 * `check` and its parts return the number of matches: for `oneOf` and `anyOf`, the errors of the
 * schema with the most matches are reported. The reference counts each kind of check that applies
 * to a value, passed or not, and some kinds once more if they pass.
 */
class ValueWalk {
  readonly found: FieldProblem[] = [];
  private readonly steps: (string | number)[] = [];
  /** More than 0: it only matters whether there are faults. */
  private quiet = 0;

  constructor(private readonly prefix: string) {}

  check(value: unknown, schema: CompiledSchema, old: Correlated | undefined): number {
    if (value === null) return this.checkNull(schema);
    let right = ALWAYS + this.checkType(value, schema);
    if (schema.hasJunctors) right += this.checkJunctors(value, schema, old);
    switch (typeof value) {
      case "string":
        if (schema.hasTextRules || schema.format !== "") this.checkText(value, schema);
        right += 1;
        break;
      case "number":
      case "bigint":
        if (schema.hasNumberRules) this.checkNumber(value, schema);
        right += 2;
        break;
      case "object":
        if (Array.isArray(value)) right += this.checkItems(value, schema, old);
        break;
      default:
    }
    if (schema.hasEnum) this.checkEnum(value, schema);
    if (typeof value === "object" && !Array.isArray(value)) {
      right += this.checkFields(value as JsonObject, schema, old);
    }
    return right;
  }

  private checkNull(schema: CompiledSchema): number {
    const isFit = schema.types.length === 0 || schema.isNullable;
    if (!isFit) this.typeFault(schema.types.join(","), "null");
    if (schema.hasEnum) this.checkEnum(null, schema);
    return isFit ? 1 : 0;
  }

  private checkType(value: unknown, schema: CompiledSchema): number {
    const { types, format } = schema;
    if (types.length === 0 && format === "") return 0;
    const type = jsonTypeOf(value);
    const isNumeric = types.includes("number") || types.includes("integer");
    const isFit =
      types.includes(type) ||
      (type === "integer" && types.includes("number")) ||
      (typeof value === "number" && types.includes("integer") && isJsonInteger(value));
    if (isFit) return 1;
    const isTextual = type === "string" || type === "array";
    // What has a format is looked at only where the format looks at it.
    if (format !== "" && isTextual && !isNumeric) return 1;
    if (format !== "" && !isTextual) this.typeFault(format, goFormats[type] ?? "");
    else this.typeFault(types.join(","), type);
    return 0;
  }

  private checkText(text: string, schema: CompiledSchema): void {
    if (schema.hasTextRules) this.checkTextRules(text, schema);
    const isFormatted = schema.format === "" ? undefined : formatCheck(schema.format);
    if (isFormatted?.(text) === false) this.typeFault(schema.format, text);
  }

  /** Reports only the first error. */
  private checkTextRules(text: string, schema: CompiledSchema): void {
    const { maxLength, minLength, pattern } = schema.source;
    if (maxLength !== undefined && isLonger(text, Number(maxLength))) {
      const unit = Number(maxLength) === 1 ? "byte" : "bytes";
      const limit = `may not be more than ${maxLength} ${unit}`;
      const detail = Number(maxLength) < 0 ? "value is too long" : limit;
      this.tell(() => ({ type: "FieldValueTooLong", value: text, detail }));
    } else if (minLength !== undefined && !isLonger(text, Number(minLength) - 1)) {
      this.invalid(text, `should be at least ${minLength} chars long`);
    } else if (pattern) {
      const fault = patternOf(schema.source).fault(text);
      if (fault !== undefined) this.invalid(text, `should match '${fault}'`);
    }
  }

  private checkNumber(value: number | bigint, { source }: CompiledSchema): void {
    for (const fault of numberFaults(value, source)) this.invalid(value, `should ${fault}`);
  }

  private checkItems(
    list: readonly unknown[],
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    const { items, source } = schema;
    let right = 2;
    if (items !== undefined) {
      for (let index = 0; index < list.length; index++) {
        right += this.checkBelow(index, list[index], items, old?.item(index));
      }
    }
    const { length } = list;
    if (source.minItems !== undefined && length < source.minItems) {
      this.invalid(length, `should have at least ${source.minItems} items`);
    }
    if (source.maxItems !== undefined && length > source.maxItems) {
      this.tooMany(length, source.maxItems);
    }
    return right;
  }

  private checkFields(
    object: JsonObject,
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    const { minProperties, maxProperties, required } = schema.source;
    let right = 1;
    const names = Object.keys(object);
    if (minProperties !== undefined && names.length < minProperties) {
      this.invalid(names.length, `should have at least ${minProperties} properties`);
    }
    if (maxProperties !== undefined && names.length > maxProperties) {
      this.tooMany(names.length, maxProperties);
    }
    for (const name of names) {
      const field = schema.field(name);
      const value = object[name];
      if (field === undefined || value === undefined) continue;
      right += this.checkBelow(name, value, field, old?.field(name));
    }
    for (const name of required ?? []) {
      if (Object.hasOwn(object, name)) continue;
      this.steps.push(name);
      this.tell(() => ({ type: "FieldValueRequired", detail: "" }));
      this.steps.pop();
    }
    return right;
  }

  private checkBelow(
    step: string | number,
    value: unknown,
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    const before = this.found.length;
    this.steps.push(step);
    const right = this.check(value, schema, old);
    this.steps.pop();
    if (this.found.length > before && old?.isUnchanged === true) this.found.length = before;
    return right;
  }

  private checkEnum(value: unknown, schema: CompiledSchema): void {
    if (schema.isOneOfEnum(value)) return;
    this.tell(() => {
      const values = (schema.source.enum ?? []).map((each) => goQuote(enumText(each)));
      const detail = `supported values: ${values.join(", ")}`;
      return { type: "FieldValueNotSupported", value: inGoOrder(value), detail };
    });
  }

  private checkJunctors(
    value: unknown,
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    let right = 0;
    const anyOf = schema.junctor("anyOf");
    if (anyOf.length > 0) {
      const { best, valid } = this.tryAll(anyOf, value, { old, stopsAtFirst: true });
      if (valid === 0) this.junctorFault("validate at least one schema (anyOf)");
      right += this.take(best);
    }
    const oneOf = schema.junctor("oneOf");
    if (oneOf.length > 0) {
      const { best, valid } = this.tryAll(oneOf, value, { old, stopsAtFirst: false });
      if (valid !== 1) {
        const count = valid === 0 ? "none valid" : `${valid} valid alternatives`;
        this.junctorFault(`validate one and only one schema (oneOf). Found ${count}`);
      }
      if (valid <= 1) right += this.take(best);
    }
    right += this.checkAllOf(value, schema.junctor("allOf"), old);
    for (const schemaOfNot of schema.junctor("not")) {
      if (this.tryQuietly(value, schemaOfNot, old).found.length > 0) continue;
      this.junctorFault("not validate the schema (not)");
    }
    return right;
  }

  private checkAllOf(
    value: unknown,
    schemas: readonly CompiledSchema[],
    old: Correlated | undefined,
  ): number {
    let right = 0;
    let valid = 0;
    for (const schema of schemas) {
      const attempt = this.try(value, schema, old);
      if (attempt.found.length === 0) valid++;
      right += this.take(attempt);
    }
    if (valid < schemas.length) {
      const none = valid === 0 ? ". None validated" : "";
      this.junctorFault(`validate all the schemas (allOf)${none}`);
    }
    return right;
  }

  /**
   * The first that holds or else the one that fits best, and how many hold. Most values fit one of
   * several schemas, so that faults are put into words only when none does.
   */
  private tryAll(
    schemas: readonly CompiledSchema[],
    value: unknown,
    { old, stopsAtFirst }: { readonly old: Correlated | undefined; readonly stopsAtFirst: boolean },
  ): { readonly best: Attempt | undefined; readonly valid: number } {
    let best: { readonly schema: CompiledSchema; readonly right: number } | undefined;
    let valid = 0;
    for (const schema of schemas) {
      const { right, found } = this.tryQuietly(value, schema, old);
      if (found.length === 0) {
        valid++;
        if (valid === 1) best = { schema, right };
        if (stopsAtFirst) break;
      } else if (valid === 0 && (best === undefined || right > best.right)) {
        best = { schema, right };
      }
    }
    if (best === undefined || valid > 0)
      return { best: best && { ...best, found: nothing }, valid };
    if (this.quiet > 0) return { best: { ...best, found: [somethingWrong] }, valid };
    return { best: this.try(value, best.schema, old), valid };
  }

  private tryQuietly(value: unknown, schema: CompiledSchema, old: Correlated | undefined): Attempt {
    this.quiet++;
    const attempt = this.try(value, schema, old);
    this.quiet--;
    return attempt;
  }

  private try(value: unknown, schema: CompiledSchema, old: Correlated | undefined): Attempt {
    const before = this.found.length;
    const right = this.check(value, schema, old);
    const found = this.found.length > before ? this.found.splice(before) : nothing;
    return { right, found };
  }

  private take(attempt: Attempt | undefined): number {
    if (attempt === undefined) return 0;
    if (attempt.found.length > 0) this.found.push(...attempt.found);
    return attempt.right;
  }

  private tell(problem: (path: string) => Problem): void {
    if (this.found.length >= MOST_TOLD) return;
    if (this.quiet > 0) {
      this.found.push(somethingWrong);
      return;
    }
    const { path, prefix } = this;
    const field = prefix === "" || path === "" ? prefix + path : `${prefix}.${path}`;
    this.found.push({ field, ...problem(path) });
  }

  private invalid(value: unknown, fault: string): void {
    const type = "FieldValueInvalid";
    this.tell((path) => ({ type, value, detail: `${path} in body ${fault}` }));
  }

  private tooMany(actual: number, most: number | bigint): void {
    const limit = `must have at most ${most} ${Number(most) === 1 ? "item" : "items"}`;
    const detail = Number(most) < 0 ? "has too many items" : limit;
    this.tell(() => ({ type: "FieldValueTooMany", value: actual, detail }));
  }

  private typeFault(expected: string, actual: string): void {
    this.tell((path) => ({
      type: "FieldValueTypeInvalid",
      value: actual,
      detail: `${path} in body must be of type ${expected}: ${goQuote(actual)}`,
    }));
  }

  /** Told of no field, but with the path inside. */
  private junctorFault(must: string): void {
    this.tell((path) => ({
      field: this.prefix,
      type: "FieldValueInvalid",
      value: "",
      detail: `"${path}" must ${must}`,
    }));
  }

  private get path(): string {
    let path = "";
    for (const step of this.steps) {
      if (typeof step === "number") path += `[${step}]`;
      else path += path === "" ? step : `.${step}`;
    }
    return path;
  }
}

/** Told of the value at hand unless it names a field. */
type Problem = Omit<FieldProblem, "field"> & Partial<Pick<FieldProblem, "field">>;

const somethingWrong: FieldProblem = { type: "FieldValueInvalid", field: "", detail: "" };

const nothing: readonly FieldProblem[] = [];

/** Kinds of checks that there are for every value. */
const ALWAYS = 5;

interface Attempt {
  readonly right: number;
  readonly found: readonly FieldProblem[];
}

/** Formats of Go's types, which the reference names where a format stands for a type. */
const goFormats: Readonly<Record<string, string>> = { integer: "int64", number: "float64" };

function jsonTypeOf(value: unknown): string {
  switch (typeof value) {
    case "string":
    case "boolean":
      return typeof value;
    case "number":
    case "bigint":
      return isInteger(value) ? "integer" : "number";
    default:
      return Array.isArray(value) ? "array" : "object";
  }
}

/** Whether a text has more than so many characters (code points). */
function isLonger(text: string, most: number): boolean {
  if (text.length <= most) return false;
  if (text.length > 2 * most) return true;
  let count = 0;
  for (const _ of text) if (++count > most) return true;
  return false;
}

function enumText(value: unknown): string {
  return typeof value === "string" ? value : printJson(value);
}
