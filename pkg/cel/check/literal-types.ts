import type { Literal } from "../syntax/ast.ts";
import { bool, bytes, type CelType, double, int, nullType, string, uint } from "./types.ts";
import { canonical, Double, Uint, type Value } from "../value/values.ts";

/** Static types and run-time values of literals. */

export function literalType(literal: Literal): CelType {
  switch (literal.type) {
    case "null":
      return nullType;
    case "bool":
      return bool;
    case "int":
      return int;
    case "uint":
      return uint;
    case "double":
      return double;
    case "string":
      return string;
    case "bytes":
      return bytes;
  }
}

export function literalValue(literal: Literal): Value {
  switch (literal.type) {
    case "null":
      return null;
    case "int":
      return canonical(literal.value);
    case "uint":
      return new Uint(literal.value);
    case "double":
      return new Double(literal.value);
    default:
      return literal.value;
  }
}
