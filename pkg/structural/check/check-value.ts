import type { JsonObject } from "#base";
import { goQuote, printJson } from "#meta";
import type { FieldProblem, Problems } from "#schema";
import { patternOf } from "./patterns.ts";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { Correlated } from "./correlated.ts";
import { formatCheck } from "../formats/formats.ts";
import { inGoOrder } from "./go-order.ts";
import { maxErrors } from "../schema/limits.ts";
import { isInteger, isJsonInteger, numberFaults } from "./number-rules.ts";

/**
 * Validates a value against its schema, without CEL rules. Errors are in the order of kube-openapi's
 * validator; each is reported once.
 */
export function checkValue(
  value: unknown,
  schema: CompiledSchema,
  {
    prefix = "",
    old,
    problems,
  }: {
    /** Prefix of the `field` of problems, which their messages do not contain. */
    readonly prefix?: string;
    /** The value before an update; errors of unchanged values are ignored. */
    readonly old?: unknown;
    readonly problems: Problems;
  },
): void {
  const walk = new ValueWalk(prefix);
  walk.check(value, schema, undefined);
  if (walk.found.length === 0) return;
  if (old === undefined) return addDistinct(walk.found, problems);
  // Most updates are valid, so the old and the new value are compared only in a second walk.
  const ratcheting = new ValueWalk(prefix);
  const correlated = new Correlated(value, old, schema);
  ratcheting.check(value, schema, correlated);
  if (!correlated.isUnchanged) addDistinct(ratcheting.found, problems);
}

/** Adds each problem once. */
function addDistinct(found: readonly FieldProblem[], problems: Problems): void {
  const seen = new Set<string>();
  for (const problem of found) {
    const text = `${problem.field}\n${problem.type}\n${problem.detail}`;
    if (seen.has(text)) continue;
    seen.add(text);
    problems.add(problem);
  }
}

/**
 * `check` and its parts return the number of matches: for `oneOf` and `anyOf`, the errors of the
 * schema with the most matches are reported. kube-openapi counts each kind of check that applies to a
 * value, passed or not, and some kinds once more if they pass.
 */
class ValueWalk {
  readonly found: FieldProblem[] = [];
  private readonly steps: (string | number)[] = [];
  /** If > 0, only the presence of errors matters, and messages are not formatted. */
  private quietDepth = 0;

  constructor(private readonly prefix: string) {}

  check(value: unknown, schema: CompiledSchema, old: Correlated | undefined): number {
    if (value === null) return this.checkNull(schema);
    let matches = unconditionalChecks + this.checkType(value, schema);
    if (schema.hasLogicalKeywords) matches += this.checkLogicalKeywords(value, schema, old);
    switch (typeof value) {
      case "string":
        if (schema.hasTextRules || schema.format !== "") this.checkText(value, schema);
        matches += 1;
        break;
      case "number":
      case "bigint":
        if (schema.hasNumberRules) this.checkNumber(value, schema);
        matches += 2;
        break;
      case "object":
        if (Array.isArray(value)) matches += this.checkItems(value, schema, old);
        break;
      default:
    }
    if (schema.hasEnum) this.checkEnum(value, schema);
    if (typeof value === "object" && !Array.isArray(value)) {
      matches += this.checkFields(value as JsonObject, schema, old);
    }
    return matches;
  }

  private checkNull(schema: CompiledSchema): number {
    const isAllowed = schema.types.length === 0 || schema.isNullable;
    if (!isAllowed) this.reportType(schema.types.join(","), "null");
    if (schema.hasEnum) this.checkEnum(null, schema);
    return isAllowed ? 1 : 0;
  }

  private checkType(value: unknown, schema: CompiledSchema): number {
    const { types, format } = schema;
    if (types.length === 0 && format === "") return 0;
    const type = jsonTypeOf(value);
    const isNumeric = types.includes("number") || types.includes("integer");
    const hasType =
      types.includes(type) ||
      (type === "integer" && types.includes("number")) ||
      (typeof value === "number" && types.includes("integer") && isJsonInteger(value));
    if (hasType) return 1;
    const isTextual = type === "string" || type === "array";
    // Strings and arrays with a format are checked by the format, not by type.
    if (format !== "" && isTextual && !isNumeric) return 1;
    if (format !== "" && !isTextual) this.reportType(format, goFormats[type] ?? "");
    else this.reportType(types.join(","), type);
    return 0;
  }

  private checkText(text: string, schema: CompiledSchema): void {
    if (schema.hasTextRules) this.checkTextRules(text, schema);
    const hasFormat = schema.format === "" ? undefined : formatCheck(schema.format);
    if (hasFormat?.(text) === false) this.reportType(schema.format, text);
  }

  /** Reports the first error only. */
  private checkTextRules(text: string, schema: CompiledSchema): void {
    const { maxLength, minLength, pattern } = schema.source;
    if (maxLength !== undefined && isLonger(text, Number(maxLength))) {
      const unit = Number(maxLength) === 1 ? "byte" : "bytes";
      const limit = `may not be more than ${maxLength} ${unit}`;
      const detail = Number(maxLength) < 0 ? "value is too long" : limit;
      this.report(() => ({ type: "FieldValueTooLong", value: text, detail }));
    } else if (minLength !== undefined && !isLonger(text, Number(minLength) - 1)) {
      this.reportInvalid(text, `should be at least ${minLength} chars long`);
    } else if (pattern) {
      const fault = patternOf(schema.source).fault(text);
      if (fault !== undefined) this.reportInvalid(text, `should match '${fault}'`);
    }
  }

  private checkNumber(value: number | bigint, { source }: CompiledSchema): void {
    for (const fault of numberFaults(value, source)) this.reportInvalid(value, `should ${fault}`);
  }

  private checkItems(
    list: readonly unknown[],
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    const { items, source } = schema;
    let matches = 2;
    if (items !== undefined) {
      for (let index = 0; index < list.length; index++) {
        matches += this.checkChild(index, list[index], items, old?.item(index));
      }
    }
    const { length } = list;
    if (source.minItems !== undefined && length < source.minItems) {
      this.reportInvalid(length, `should have at least ${source.minItems} items`);
    }
    if (source.maxItems !== undefined && length > source.maxItems) {
      this.reportTooMany(length, source.maxItems);
    }
    return matches;
  }

  private checkFields(
    object: JsonObject,
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    const { minProperties, maxProperties, required } = schema.source;
    let matches = 1;
    const names = Object.keys(object);
    if (minProperties !== undefined && names.length < minProperties) {
      this.reportInvalid(names.length, `should have at least ${minProperties} properties`);
    }
    if (maxProperties !== undefined && names.length > maxProperties) {
      this.reportTooMany(names.length, maxProperties);
    }
    for (const name of schema.hasMemberSchemas ? names : []) {
      const field = schema.field(name);
      const value = object[name];
      if (field === undefined || value === undefined) continue;
      matches += this.checkChild(name, value, field, old?.field(name));
    }
    for (const name of required ?? []) {
      if (Object.hasOwn(object, name)) continue;
      this.steps.push(name);
      this.report(() => ({ type: "FieldValueRequired", detail: "" }));
      this.steps.pop();
    }
    return matches;
  }

  private checkChild(
    step: string | number,
    value: unknown,
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    const before = this.found.length;
    this.steps.push(step);
    const matches = this.check(value, schema, old);
    this.steps.pop();
    if (this.found.length > before && old?.isUnchanged === true) this.found.length = before;
    return matches;
  }

  private checkEnum(value: unknown, schema: CompiledSchema): void {
    if (schema.isOneOfEnum(value)) return;
    this.report(() => {
      const values = (schema.source.enum ?? []).map((each) => goQuote(enumText(each)));
      const detail = `supported values: ${values.join(", ")}`;
      return { type: "FieldValueNotSupported", value: inGoOrder(value), isQuoted: true, detail };
    });
  }

  private checkLogicalKeywords(
    value: unknown,
    schema: CompiledSchema,
    old: Correlated | undefined,
  ): number {
    let matches = 0;
    const anyOf = schema.subschemas("anyOf");
    if (anyOf.length > 0) {
      const { best, valid } = this.tryAll(anyOf, value, { old, stopsAtFirst: true });
      if (valid === 0) this.reportLogical("validate at least one schema (anyOf)");
      matches += this.take(best);
    }
    const oneOf = schema.subschemas("oneOf");
    if (oneOf.length > 0) {
      const { best, valid } = this.tryAll(oneOf, value, { old, stopsAtFirst: false });
      if (valid !== 1) {
        const count = valid === 0 ? "none valid" : `${valid} valid alternatives`;
        this.reportLogical(`validate one and only one schema (oneOf). Found ${count}`);
      }
      if (valid <= 1) matches += this.take(best);
    }
    matches += this.checkAllOf(value, schema.subschemas("allOf"), old);
    for (const schemaOfNot of schema.subschemas("not")) {
      if (this.tryQuietly(value, schemaOfNot, old).found.length > 0) continue;
      this.reportLogical("not validate the schema (not)");
    }
    return matches;
  }

  private checkAllOf(
    value: unknown,
    schemas: readonly CompiledSchema[],
    old: Correlated | undefined,
  ): number {
    let matches = 0;
    let valid = 0;
    for (const schema of schemas) {
      const attempt = this.try(value, schema, old);
      if (attempt.found.length === 0) valid++;
      matches += this.take(attempt);
    }
    if (valid < schemas.length) {
      const none = valid === 0 ? ". None validated" : "";
      this.reportLogical(`validate all the schemas (allOf)${none}`);
    }
    return matches;
  }

  /**
   * The first valid schema, or else the one with the most matches, and the number of valid schemas.
   * Errors are formatted only if no schema is valid.
   */
  private tryAll(
    schemas: readonly CompiledSchema[],
    value: unknown,
    { old, stopsAtFirst }: { readonly old: Correlated | undefined; readonly stopsAtFirst: boolean },
  ): { readonly best: Attempt | undefined; readonly valid: number } {
    let best: { readonly schema: CompiledSchema; readonly matches: number } | undefined;
    let valid = 0;
    for (const schema of schemas) {
      const { matches, found } = this.tryQuietly(value, schema, old);
      if (found.length === 0) {
        valid++;
        if (valid === 1) best = { schema, matches };
        if (stopsAtFirst) break;
      } else if (valid === 0 && (best === undefined || matches > best.matches)) {
        best = { schema, matches };
      }
    }
    if (best === undefined || valid > 0)
      return { best: best && { ...best, found: noProblems }, valid };
    if (this.quietDepth > 0) return { best: { ...best, found: [unspecifiedProblem] }, valid };
    return { best: this.try(value, best.schema, old), valid };
  }

  private tryQuietly(value: unknown, schema: CompiledSchema, old: Correlated | undefined): Attempt {
    this.quietDepth++;
    const attempt = this.try(value, schema, old);
    this.quietDepth--;
    return attempt;
  }

  /** Checks a value against a schema without reporting its problems. */
  private try(value: unknown, schema: CompiledSchema, old: Correlated | undefined): Attempt {
    const before = this.found.length;
    const matches = this.check(value, schema, old);
    const found = this.found.length > before ? this.found.splice(before) : noProblems;
    return { matches, found };
  }

  /** Reports the problems of an attempt, and returns its matches. */
  private take(attempt: Attempt | undefined): number {
    if (attempt === undefined) return 0;
    if (attempt.found.length > 0) this.found.push(...attempt.found);
    return attempt.matches;
  }

  private report(problem: (path: string) => Problem): void {
    if (this.found.length >= maxErrors) return;
    if (this.quietDepth > 0) {
      this.found.push(unspecifiedProblem);
      return;
    }
    const { path, prefix } = this;
    const field = prefix === "" || path === "" ? prefix + path : `${prefix}.${path}`;
    this.found.push({ field, ...problem(path) });
  }

  private reportInvalid(value: unknown, fault: string): void {
    const type = "FieldValueInvalid";
    this.report((path) => ({ type, value, detail: `${path} in body ${fault}` }));
  }

  private reportTooMany(actual: number, limit: number | bigint): void {
    const unit = Number(limit) === 1 ? "item" : "items";
    const detail = Number(limit) < 0 ? "has too many items" : `must have at most ${limit} ${unit}`;
    this.report(() => ({ type: "FieldValueTooMany", value: actual, detail }));
  }

  private reportType(expected: string, actual: string): void {
    this.report((path) => ({
      type: "FieldValueTypeInvalid",
      value: actual,
      detail: `${path} in body must be of type ${expected}: ${goQuote(actual)}`,
    }));
  }

  /** Reports an error without a field, whose message contains the path. */
  private reportLogical(must: string): void {
    this.report((path) => ({
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

/** A problem; `field` defaults to the path of the current value. */
type Problem = Omit<FieldProblem, "field"> & Partial<Pick<FieldProblem, "field">>;

const unspecifiedProblem: FieldProblem = { type: "FieldValueInvalid", field: "", detail: "" };

const noProblems: readonly FieldProblem[] = [];

/** Number of kinds of checks that apply to every value. */
const unconditionalChecks = 5;

/** Result of a check against a subschema of a logical keyword. */
interface Attempt {
  readonly matches: number;
  readonly found: readonly FieldProblem[];
}

/** Formats of Go's numbers, which kube-openapi reports as the actual type of a value with a format. */
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

/** Whether a text has more than `limit` code points. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > 2 * limit) return true;
  let count = 0;
  for (const _ of text) if (++count > limit) return true;
  return false;
}

function enumText(value: unknown): string {
  return typeof value === "string" ? value : printJson(value);
}
