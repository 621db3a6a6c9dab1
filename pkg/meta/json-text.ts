/** JSON text of any JSON-shaped value: what `JSON.stringify` prints, with bigints as integers. */

/** Compact JSON. Recursive: callers pass values whose depth was bounded when they were read. */
export function printJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    // Only a bigint is refused here; cycles do not exist in values that came from JSON.
    if (error instanceof TypeError) return printWithBigints(value);
    throw error;
  }
}

function printWithBigints(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(printWithBigints).join(",")}]`;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const printed = entries.map(([key, inner]) => [JSON.stringify(key), printWithBigints(inner)]);
  return `{${printed.map((pair) => pair.join(":")).join(",")}}`;
}
