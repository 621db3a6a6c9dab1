import { compareUtf8, isJsonObject, type JsonObject, sliceLength, type Slices } from "#base";
import { goQuote, goTypeOf, goValue } from "#meta";
import { describeElement, fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { ElementError, elementOf, formOf, slicedLevelsOf, treatedAs } from "./value.ts";

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
  return faultText(faultsOf(shape, configuration));
}

/** As `configurationFault`, in slices. */
export function* configurationFaultInSlices(
  shape: Shape,
  configuration: JsonObject,
): Slices<string> {
  const levels = slicedLevelsOf(configuration);
  return faultText(yield* faultsInSlices(shape, configuration, levels));
}

function faultText(all: readonly Fault[]): string {
  const faults = all.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
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

/** As `faultsOf`, of which `levels` levels are processed in slices. */
function* faultsInSlices(shape: Shape, value: unknown, levels: number): Slices<readonly Fault[]> {
  const { list, map } = shape;
  if (levels > 0 && list !== undefined && Array.isArray(value)) {
    const checks = new ListCheck(list, value);
    while (checks.next()) yield;
    return checks.faults;
  }
  if (levels === 0 || map === undefined || !isMap(value)) return faultsOf(shape, value);
  const faults: Fault[] = [];
  for (const [index, name] of Object.keys(value).entries()) {
    if (index % sliceLength === 0) yield;
    const below = map.fields.get(name) ?? map.element;
    const inner = value[name];
    const isSliced = levels > 1 && below !== undefined && typeof inner === "object";
    const found = isSliced
      ? yield* faultsInSlices(below, inner, levels - 1)
      : faultsOfField(below, inner);
    addBelow(faults, fieldElement(name), found);
    if (below === undefined) break;
  }
  return faults;
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
    addBelow(faults, fieldElement(name), faultsOfField(shape, value[name]));
    if (shape === undefined) break;
  }
  return faults;
}

/** An undeclared field has no shape. */
function faultsOfField(shape: Shape | undefined, value: unknown): readonly Fault[] {
  return shape === undefined ? undeclared : faultsOf(shape, value);
}

/** Adds the faults of the value at an element. */
function addBelow(faults: Fault[], element: PathElement, found: readonly Fault[]): void {
  if (found.length === 0) return;
  const prefix = describeElement(element);
  for (const { path, message } of found) faults.push({ path: prefix + path, message });
}

function faultsInList(list: ListShape, items: readonly unknown[]): readonly Fault[] {
  const check = new ListCheck(list, items);
  while (check.next());
  return check.faults;
}

/** Validates the items of a list. */
class ListCheck {
  readonly faults: Fault[] = [];
  private readonly seen = new Set<PathElement>();
  private at = 0;

  constructor(
    private readonly list: ListShape,
    private readonly items: readonly unknown[],
  ) {}

  /** Validates the items of one slice; returns false after the last one. */
  next(): boolean {
    const end = Math.min(this.at + sliceLength, this.items.length);
    while (this.at < end) if (!this.check(this.at++)) return false;
    return end < this.items.length;
  }

  /** Returns false for an item without valid keys, after which no items are validated. */
  private check(index: number): boolean {
    const { list, faults } = this;
    const item = this.items[index];
    let element: PathElement = `i:${index}`;
    if (list.relation !== "atomic") {
      try {
        element = elementOf(list, item);
      } catch (error) {
        if (!(error instanceof ElementError)) throw error;
        faults.push({ path: "", message: `element ${index}: ${error.message}` });
        return false;
      }
      if (this.seen.has(element)) {
        const message = `duplicate entries for key ${describeElement(element)}`;
        faults.push({ path: "", message });
      }
      this.seen.add(element);
    }
    addBelow(faults, element, faultsOf(list.element, item));
    return true;
  }
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
