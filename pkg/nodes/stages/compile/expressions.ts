/** jq queries and CEL expressions of Stages. */
import { compile, costLimits, dyn, Duration, Environment, type Program } from "#cel";
import type { ExpressionFrom, MatchExpression } from "#kinds";
import { parseDuration, parseSeconds } from "#meta";
import { Query } from "../jq/query.ts";
import { QueryFault } from "../jq/tokens.ts";
import { StageFault } from "./stage-fault.ts";

/** Whether an object matches a selector expression. */
export type Matcher = (object: unknown) => boolean;

/** Gets a value from the object at a time in ms; undefined = none. */
export type Getter<T> = (object: unknown, now: number) => T | undefined;

let environment: Environment | undefined;

function celProgram(expression: string): Program {
  environment ??= Environment.kubernetes({ variables: { self: dyn } });
  const { program, error } = compile(expression, environment);
  if (program === undefined) throw new StageFault(`cel: ${error}`);
  return program;
}

function celValue(program: Program, object: unknown): unknown {
  return program.evaluate({ self: object }, costLimits.call).value;
}

function jqQuery(expression: string): Query {
  try {
    return new Query(expression);
  } catch (error) {
    if (!(error instanceof QueryFault)) throw error;
    throw new StageFault(`${JSON.stringify(expression)}: ${error.message}`);
  }
}

/**
 * An expression of a selector, with KWOK's rules: a query that fails on an object finds nothing.
 * @throws StageFault
 */
export function matcherOf({ cel, jq, ...deprecated }: MatchExpression): Matcher {
  if (cel !== undefined) {
    const program = celProgram(cel.expression);
    return (object) => celValue(program, object) === true;
  }
  const { key = "", operator = "", values = [] } = jq ?? deprecated;
  const query = jqQuery(key);
  const wanted = new Set(values);
  const found = (object: unknown) => query.execute(object) ?? [];
  const isAmong = (object: unknown) => found(object).some((value) => wanted.has(scalarText(value)));
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) throw new StageFault(`${operator} needs values`);
      return operator === "In" ? isAmong : (object) => !isAmong(object);
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) throw new StageFault(`${operator} takes no values`);
      return (object) => found(object).length > 0 === (operator === "Exists");
    default:
      throw new StageFault(`operator ${JSON.stringify(operator)} is not supported`);
  }
}

/**
 * Text of a scalar for comparison with the values of a selector; "" for other values, which never
 * match.
 */
function scalarText(value: unknown): string {
  return typeof value === "object" ? "" : String(value);
}

/**
 * Duration in milliseconds: a Go duration, or the time until an RFC 3339 time. `fallback` if absent or
 * invalid; none for an empty string.
 * @throws StageFault
 */
export function durationGetter(
  fallback: number | undefined,
  from: ExpressionFrom | undefined,
): Getter<number> {
  return getter(fallback, from, (value, now) => {
    if (value instanceof Duration) return Number(value.nanos / 1_000_000n);
    return typeof value === "string" ? durationOf(value, now) : undefined;
  });
}

/**
 * An integer; `fallback` if absent, none if invalid.
 * @throws StageFault
 */
export function numberGetter(fallback: number, from: ExpressionFrom | undefined): Getter<number> {
  return getter(fallback, from, (value) => {
    if (typeof value === "number" || typeof value === "bigint") return Math.trunc(Number(value));
    if (typeof value !== "string") return undefined;
    return /^[+-]?(?:\d+|0[xX][0-9a-fA-F]+)$/.test(value) ? Number(value) : null;
  });
}

/** `convert` returns undefined for the fallback, and null for no value. */
function getter(
  fallback: number | undefined,
  from: ExpressionFrom | undefined,
  convert: (value: unknown, now: number) => number | null | undefined,
): Getter<number> {
  const valueOf = from === undefined ? undefined : valueGetter(from);
  if (valueOf === undefined) return () => fallback;
  return (object, now) => {
    const value = valueOf(object);
    if (value === "") return undefined;
    const converted = convert(value, now);
    return converted === undefined ? fallback : (converted ?? undefined);
  };
}

function valueGetter({
  cel,
  jq,
  expressionFrom = "",
}: ExpressionFrom): ((object: unknown) => unknown) | undefined {
  if (cel !== undefined) {
    const program = celProgram(cel.expression);
    return (object) => celValue(program, object);
  }
  const text = jq?.expression ?? expressionFrom;
  if (text === "") return undefined;
  const query = jqQuery(text);
  return (object) => query.execute(object)?.[0];
}

function durationOf(text: string, now: number): number | undefined {
  try {
    if (!/^\d{4}-/.test(text)) return Number(parseDuration(text) / 1_000_000n);
    const { seconds, nanos } = parseSeconds(text);
    return seconds * 1000 + Math.floor(nanos / 1e6) - now;
  } catch {
    return undefined;
  }
}
