/**
 * kube-apiserver decodes merged documents by runtime.DefaultUnstructuredConverter, without JSON text.
 * Its errors name Go kinds where those of the JSON decoder name fields.
 */

const mismatch =
  /^json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \S+|value) of type (\S+)$/;

/** Translates an error of the JSON decoder into that of the converter. */
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

/** The Go kind of an unstructured JSON value. */
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
