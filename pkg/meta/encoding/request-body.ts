import { atOnce, inTurns, type Slices } from "#base";
import { parseJson, parseJsonInSlices, type ParsedJson, TooManyValues } from "#schema";
import { requestEntityTooLarge } from "../status/status-errors.ts";
import { hasMoreSeparators } from "./yaml-density.ts";
import { type ParsedYaml, parseYamlInSlices } from "./yaml.ts";

/**
 * Limits of the number of values in a request body, on which the time of a write depends more than on
 * its size: 3 MiB of brackets would block the event loop for seconds. Real objects have more than 25
 * bytes per value, and etcd rejects objects above 1.5 MiB, so that they stay below the limits.
 */
export const requestBounds = {
  /** Keys and list elements of the text, managedFields included. */
  values: 100_000,
  /** Scalars, lists and maps of a YAML text, which take far longer to read. */
  yamlNodes: 50_000,
  /** What the list elements and map entries of the object weigh together (`weightOf`). */
  weight: 100_000,
  /** Bytes of a body that is answered and never stored, such as a review. */
  transientBytes: 256 * 1024,
  /** As `weight`, of such a body: it is read by users without any right to write. */
  transientWeight: 25_000,
};

/** Runs a decoder of a request body. @throws StatusError 413 for too many values */
export function withinBounds<T>(decode: () => T): T {
  try {
    return decode();
  } catch (fault) {
    if (fault instanceof TooManyValues) throw requestEntityTooLarge(fault.message);
    throw fault;
  }
}

/** `parseJson` for request bodies: throws 413 before it builds too many values. */
export function parseJsonRequest(bytes: Uint8Array): ParsedJson {
  return withinBounds(
    () => takeParsedAhead(bytes, "json") ?? parseJson(bytes, requestBounds.values),
  );
}

/** `parseYaml` for request bodies: throws 413 for too many values. */
export function parseYamlRequest(bytes: Uint8Array): ParsedYaml {
  return withinBounds(() => takeParsedAhead(bytes, "yaml") ?? atOnce(yamlInSlices(bytes)));
}

function* yamlInSlices(bytes: Uint8Array): Slices<ParsedYaml> {
  const text = Buffer.from(bytes).toString("utf8");
  if (hasMoreSeparators(text, 2 * requestBounds.yamlNodes)) throw new TooManyValues();
  yield;
  return yield* parseYamlInSlices(text, requestBounds.yamlNodes);
}

export type TextFormat = "json" | "yaml";

/** Result of parsing ahead. */
type Outcome = { readonly parsed: ParsedJson } | { readonly fault: unknown };

/** Results of `parseAhead` that have not been taken. */
const outcomes = new WeakMap<Uint8Array, Map<TextFormat, Outcome>>();

/** Minimum size for parsing ahead; smaller texts are parsed within a few milliseconds. */
const largeTextBytes = 16 * 1024;

/**
 * Parses a large text in slices, so that it does not block the event loop; the later parse call takes
 * the result or throws the fault. If a format fails or has duplicate keys, the next one is tried.
 */
export function parseAhead(
  bytes: Uint8Array,
  formats: readonly TextFormat[],
): Promise<void> | undefined {
  return bytes.byteLength > largeTextBytes ? parseInSlices(bytes, formats) : undefined;
}

async function parseInSlices(bytes: Uint8Array, formats: readonly TextFormat[]): Promise<void> {
  const found = new Map<TextFormat, Outcome>();
  outcomes.set(bytes, found);
  for (const format of formats) {
    const outcome = await outcomeOf(bytes, format);
    found.set(format, outcome);
    if ("parsed" in outcome && outcome.parsed.duplicates.length === 0) return;
  }
}

async function outcomeOf(bytes: Uint8Array, format: TextFormat): Promise<Outcome> {
  const slices: Slices<ParsedJson> =
    format === "json" ? parseJsonInSlices(bytes, requestBounds.values) : yamlInSlices(bytes);
  try {
    return { parsed: await inTurns(slices) };
  } catch (fault) {
    return { fault };
  }
}

/** Takes the result of parsing ahead, once, as callers may modify the value; undefined if there is none. */
function takeParsedAhead(bytes: Uint8Array, format: TextFormat): ParsedJson | undefined {
  const outcome = outcomes.get(bytes)?.get(format);
  if (outcome === undefined) return undefined;
  outcomes.get(bytes)?.delete(format);
  if ("fault" in outcome) throw outcome.fault;
  return outcome.parsed;
}
