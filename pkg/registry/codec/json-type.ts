/** The type of a JSON value in error messages of Go's encoding/json. */
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
