import { parseJson, type ParsedJson, TooManyValues } from "#schema";
import { requestEntityTooLarge } from "../status/status-errors.ts";
import { hasMoreSeparators } from "./yaml-density.ts";
import { type ParsedYaml, parseYaml } from "./yaml.ts";

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
export function parseJsonRequest(source: string | Uint8Array): ParsedJson {
  return withinBounds(() => parseJson(source, requestBounds.values));
}

/** `parseYaml` for request bodies: throws 413 for too many values. */
export function parseYamlRequest(bytes: Uint8Array): ParsedYaml {
  const text = Buffer.from(bytes).toString("utf8");
  return withinBounds(() => {
    if (hasMoreSeparators(text, 2 * requestBounds.yamlNodes)) throw new TooManyValues();
    return parseYaml(text, requestBounds.yamlNodes);
  });
}
