import { atOnce, inTurns, type Slices } from "#base";
import { parseJson, parseJsonInSlices, type ParsedJson, TooManyValues } from "#schema";
import { requestEntityTooLarge } from "../status/status-errors.ts";
import { hasMoreSeparators } from "./yaml-density.ts";
import { type ParsedYaml, parseYamlInSlices } from "./yaml.ts";

/**
 * Bounds on the values in one request body. The time that a write takes grows with them rather than
 * with bytes, so a body of 3 MiB that is nothing but brackets would hold the event loop for
 * seconds. Content of real objects has more than 25 bytes per value, and etcd refuses objects above
 * 1.5 MiB, so real objects stay below.
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

/** Runs a decoder of a request body. Throws 413 if the body has too many values. */
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
  return withinBounds(() => parsedAhead(bytes, "json") ?? parseJson(bytes, requestBounds.values));
}

/** `parseYaml` for request bodies: throws 413 for too many values. */
export function parseYamlRequest(bytes: Uint8Array): ParsedYaml {
  return withinBounds(() => parsedAhead(bytes, "yaml") ?? atOnce(yamlInSlices(bytes)));
}

function* yamlInSlices(bytes: Uint8Array): Slices<ParsedYaml> {
  const text = Buffer.from(bytes).toString("utf8");
  if (hasMoreSeparators(text, 2 * requestBounds.yamlNodes)) throw new TooManyValues();
  yield;
  return yield* parseYamlInSlices(text, requestBounds.yamlNodes);
}

export type TextFormat = "json" | "yaml";

/** The value of a text that was parsed ahead, or the fault that it has. */
type Outcome = { readonly parsed: ParsedJson } | { readonly fault: unknown };

/** What `parseAhead` has found and no step has asked for yet. */
const outcomes = new WeakMap<Uint8Array, Map<TextFormat, Outcome>>();

/** Texts that are shorter are parsed within a few milliseconds. */
const largeText = 16 * 1024;

/**
 * Parses a large text in slices before the step that asks for its value, so that no other request
 * waits for all of it. That step receives the value, or has the fault thrown. Of several formats the
 * next one is tried where a text has a fault or gives a key twice.
 */
export function parseAhead(
  bytes: Uint8Array,
  formats: readonly TextFormat[],
): Promise<void> | undefined {
  return bytes.byteLength > largeText ? parseInSlices(bytes, formats) : undefined;
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

/** Handed out once, since steps may change the value. Undefined unless it was parsed ahead. */
function parsedAhead(bytes: Uint8Array, format: TextFormat): ParsedJson | undefined {
  const outcome = outcomes.get(bytes)?.get(format);
  if (outcome === undefined) return undefined;
  outcomes.get(bytes)?.delete(format);
  if ("fault" in outcome) throw outcome.fault;
  return outcome.parsed;
}
