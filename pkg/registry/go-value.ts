/** A JSON value as Go's `%v` prints it: `map[spec:map[replicas:4 tags:[a b]]]`, keys sorted. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goValue).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `map[${entries.map(([key, inner]) => `${key}:${goValue(inner)}`).join(" ")}]`;
}

/** The type of a JSON value as Go's decoder names it in faults. */
export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "number";
    default:
      return typeof value;
  }
}
