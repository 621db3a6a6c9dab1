/**
 * Kubernetes brings documents that it has merged into Go structs without a detour over JSON text,
 * by a converter that speaks of Go's kinds where the JSON decoder speaks of fields.
 */

const mismatch =
  /^json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)$/;

/** What the JSON decoder says of a value, in the words of that converter. */
export function converterMessage(message: string): string {
  if (message.startsWith("illegal base64 data")) return `error decoding from json: ${message}`;
  const [, json = "", digits = "", goType = ""] = mismatch.exec(message) ?? [];
  if (json === "") return message;
  const kind = goKind(json, digits);
  if (goType.startsWith("[]")) return `cannot restore slice from ${kind}`;
  if (goType.startsWith("map[")) return `cannot restore map from ${kind}`;
  const isNamed = goType.includes(".");
  if (isNamed && json !== "object") return `cannot restore struct from: ${kind}`;
  const basic = isNamed ? "string" : goType;
  const isConvertible =
    (kind === "float64" && /^u?int/.test(basic)) || (kind === "int64" && basic === "string");
  return isConvertible ? `cannot convert ${kind} to ${basic}` : `unrecognized type: ${basic}`;
}

/** The kind of the Go value that a JSON value is held in. */
function goKind(json: string, digits: string): string {
  switch (json) {
    case "array":
      return "slice";
    case "object":
      return "map";
    case "number":
      return /^-?\d*$/.test(digits) ? "int64" : "float64";
    default:
      return json;
  }
}
