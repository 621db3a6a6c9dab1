/** `%v`: JSON values as Go prints them, with map keys sorted: `map[a:1 b:[x y]]`. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goValue).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `map[${entries.map(([key, inner]) => `${key}:${goValue(inner)}`).join(" ")}]`;
}

/** The Go type that a JSON value decodes into, as `%T` prints it. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

/** `%s` of a value that need not be a text: `bogus`, `%!s(int64=5)`. */
export function goString(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "%!s(<nil>)";
  if (typeof value === "object") return goValue(value);
  return `%!s(${goTypeOf(value)}=${String(value)})`;
}
