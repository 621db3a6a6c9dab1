import { append, compareUtf8, isJsonObject } from "#base";
import { goQuote, goTypeOf, goValue } from "#meta";
import { describeElement, fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { ElementError, elementOf, formOf, treatedAs } from "./value.ts";

/** A value in a configuration whose Go type no schema allows, as Go prints it. */
export class GoNative {
  constructor(
    /** `%T`, `%v` and `%#v`. */
    readonly formats: { readonly type: string; readonly text: string; readonly literal: string },
  ) {}
}

/**
 * Validates an applied configuration against its schema. Returns the message of structured-merge-diff,
 * such as `.spec.replicas: expected numeric (int or float), got string`, or "" if it is valid.
 */
export function configurationFault(shape: Shape, configuration: unknown): string {
  const faults = faultsOf(shape, configuration).map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`,
  );
  if (faults.length < 2) return faults[0] ?? "";
  return ["errors:", ...faults.map((fault) => `  ${fault}`)].join("\n");
}

interface Fault {
  readonly path: string;
  readonly message: string;
}

/** Recursive: the parser has limited the depth of documents. */
function faultsOf(shape: Shape, value: unknown): readonly Fault[] {
  if (value === null || value === undefined) return none;
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list":
      if (!Array.isArray(value)) return fault(`expected list, got ${goPointer(value)}`);
      return faultsInList(shape.list as ListShape, value);
    case "map":
      if (!isMap(value)) return fault(`expected map, got ${goPointer(value)}`);
      return faultsInMap(shape.map as MapShape, value);
    default:
      return faultsOfScalar(shape, value);
  }
}

const none: readonly Fault[] = [];

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return isJsonObject(value) && !(value instanceof GoNative);
}

function fault(message: string): readonly Fault[] {
  return [{ path: "", message }];
}

function faultsOfScalar({ scalar }: Shape, value: unknown): readonly Fault[] {
  switch (scalar) {
    case "string":
      return typeof value === "string" ? none : fault(`expected string, got ${goSyntax(value)}`);
    case "numeric":
      if (typeof value === "number" || typeof value === "bigint") return none;
      return fault(`expected numeric (int or float), got ${goType(value)}`);
    case "boolean":
      return typeof value === "boolean" ? none : fault(`expected boolean, got ${goPointer(value)}`);
    default:
      return typeof value === "object"
        ? fault(`expected any scalar, got ${goPointer(value)}`)
        : none;
  }
}

const undeclared = fault("field not declared in schema");

function faultsInMap(map: MapShape, value: Readonly<Record<string, unknown>>): readonly Fault[] {
  const faults: Fault[] = [];
  for (const name of Object.keys(value)) {
    const shape = map.fields.get(name) ?? map.element;
    const inner = shape === undefined ? undeclared : faultsOf(shape, value[name]);
    if (inner.length > 0) append(faults, prefixed(describeElement(fieldElement(name)), inner));
    if (shape === undefined) break;
  }
  return faults;
}

function prefixed(prefix: string, faults: readonly Fault[]): readonly Fault[] {
  return faults.map(({ path, message }) => ({ path: prefix + path, message }));
}

function faultsInList(list: ListShape, items: readonly unknown[]): readonly Fault[] {
  const faults: Fault[] = [];
  const seen = new Set<PathElement>();
  for (const [index, item] of items.entries()) {
    let element: PathElement = `i:${index}`;
    if (list.relation !== "atomic") {
      try {
        element = elementOf(list, item);
      } catch (error) {
        if (!(error instanceof ElementError)) throw error;
        faults.push({ path: "", message: `element ${index}: ${error.message}` });
        break;
      }
      if (seen.has(element)) {
        const message = `duplicate entries for key ${describeElement(element)}`;
        faults.push({ path: "", message });
      }
      seen.add(element);
    }
    const inner = faultsOf(list.element, item);
    if (inner.length > 0) append(faults, prefixed(describeElement(element), inner));
  }
  return faults;
}

function goType(value: unknown): string {
  return value instanceof GoNative ? value.formats.type : goTypeOf(value);
}

/** `%v` of Go's pointer to the typed value: `&{map[name:main]}`. */
function goPointer(value: unknown): string {
  return `&{${value instanceof GoNative ? value.formats.text : goValue(value)}}`;
}

/** `%#v` of Go's pointer to the typed value: `&value.valueUnstructured{Value:5}`. */
function goSyntax(value: unknown): string {
  return `&value.valueUnstructured{Value:${goLiteral(value)}}`;
}

function goLiteral(value: unknown): string {
  if (value === null) return "interface {}(nil)";
  if (typeof value === "string") return goQuote(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goLiteral).join(", ")}}`;
  if (typeof value !== "object") return String(value);
  if (value instanceof GoNative) return value.formats.literal;
  const members = Object.entries(value)
    .sort(([a], [b]) => compareUtf8(a, b))
    .map(([key, inner]) => `${goQuote(key)}:${goLiteral(inner)}`);
  return `map[string]interface {}{${members.join(", ")}}`;
}
