import { quantitySuffix } from "#meta";
import { goPodTemplateTypes } from "./go-pod-template-types.ts";

/** Prints a value of one Go type; `typed` prefixes the type in parentheses. */
type Printer = (value: unknown, typed: boolean) => string;

interface Field {
  readonly name: string;
  readonly type: string;
  /** Name in JSON; `(inline)` for an embedded struct. */
  readonly json: string;
}

const basicTypes: ReadonlySet<string> = new Set(["string", "bool", "int32", "int64", "uint8"]);
const resourceList = "map[ResourceName]resource.Quantity";
const structs = parseTypes(goPodTemplateTypes);
const printers = new Map<string, Printer>();

/**
 * Prints a defaulted pod template as go-spew prints the Go struct (one line, no methods, sorted map keys, no
 * addresses): the input of Kubernetes' pod template hash.
 */
export function printGoPodTemplate(template: object): string {
  return printerOf("PodTemplateSpec")(template, true);
}

function parseTypes(text: string): ReadonlyMap<string, readonly Field[]> {
  const entries = text
    .replace(/\s+/g, " ")
    .trim()
    .split(/\.(?= |$)/)
    .filter((each) => each !== "");
  return new Map(
    entries.map((entry) => {
      const [, struct = "", fields = ""] = /^ ?(\w+): (.*)$/.exec(entry) ?? [];
      return [struct, fields.split(", ").map(parseField)];
    }),
  );
}

function parseField(text: string): Field {
  const [name = "", type = "", json] = text.split(" ");
  return { name, type, json: json ?? name.charAt(0).toLowerCase() + name.slice(1) };
}

function printerOf(type: string): Printer {
  const known = printers.get(type);
  if (known !== undefined) return known;
  const print = newPrinter(type);
  printers.set(type, print);
  return print;
}

function newPrinter(type: string): Printer {
  const typePrefix = `(${goName(type)})`;
  if (type.startsWith("*")) return pointerPrinter(type.slice(1), typePrefix);
  const print = valuePrinter(type === "ResourceList" ? resourceList : type);
  return (value, typed) => (typed ? typePrefix : "") + print(value);
}

/** `*PodSpec` -> `*v1.PodSpec`, `map[ResourceName]string` -> `map[v1.ResourceName]string`. */
function goName(type: string): string {
  return type.replace(/[\w.]+/g, (word) =>
    word === "map" || word.includes(".") || basicTypes.has(word) ? word : `v1.${word}`,
  );
}

function pointerPrinter(target: string, shown: string): Printer {
  return (value, typed) => {
    const isNil = value === undefined || value === null;
    if (isNil) return typed ? `${shown}<nil>` : "<nil>";
    return (typed ? shown : "<*>") + printerOf(target)(value, false);
  };
}

function valuePrinter(type: string): (value: unknown) => string {
  if (type.startsWith("[]")) {
    const element = type.slice(2);
    return (value) => {
      if (value === undefined || value === null) return "<nil>";
      return `[${(value as unknown[]).map((each) => printerOf(element)(each, false)).join(" ")}]`;
    };
  }
  if (type.startsWith("map[")) return mapPrinter(type.slice(type.indexOf("]") + 1));
  const fields = structs.get(type);
  if (fields !== undefined) return structPrinter(fields);
  switch (type) {
    case "Time":
      return () => "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}";
    case "resource.Quantity":
      return (value) => printQuantity(String(value ?? "0"));
    case "intstr.IntOrString":
      return printIntOrString;
    case "bool":
      return (value) => String(value ?? false);
    case "int32":
    case "int64":
      return (value) => String(value ?? 0);
    default:
      return (value) => String(value ?? "");
  }
}

function mapPrinter(element: string): (value: unknown) => string {
  return (value) => {
    if (value === undefined || value === null) return "<nil>";
    const entries = value as Readonly<Record<string, unknown>>;
    const print = printerOf(element);
    const printedEntries = Object.keys(entries)
      .sort()
      .map((key) => `${key}:${print(entries[key], false)}`);
    return `map[${printedEntries.join(" ")}]`;
  };
}

function structPrinter(fields: readonly Field[]): (value: unknown) => string {
  return (value) => {
    const object = (value ?? {}) as Readonly<Record<string, unknown>>;
    const printedFields = fields.map(({ name, type, json }) => {
      const inner = json === "(inline)" ? object : object[json];
      return `${name}:${printerOf(type)(inner, true)}`;
    });
    return `{${printedFields.join(" ")}}`;
  };
}

function printIntOrString(value: unknown): string {
  const isText = typeof value === "string";
  const number = isText ? 0 : Number(value ?? 0);
  const text = isText ? value : "";
  return `{Type:(intstr.Type)${isText ? 1 : 0} IntVal:(int32)${number} StrVal:(string)${text}}`;
}

interface ParsedQuantity {
  readonly value: bigint;
  readonly scale: number;
  /** Text that Go's parser caches: "" unless its fast path recognizes the input as canonical. */
  readonly text: string;
  readonly format: "DecimalSI" | "BinarySI" | "DecimalExponent";
}

function printQuantity(text: string): string {
  const { value, scale, text: kept, format } = parseQuantity(text);
  const amount = `{value:(int64)${value} scale:(resource.Scale)${scale}}`;
  const decimal = "{Dec:(*inf.Dec)<nil>}";
  return (
    `{i:(resource.int64Amount)${amount} d:(resource.infDecAmount)${decimal} ` +
    `s:(string)${kept} Format:(resource.Format)${format}}`
  );
}

/** Fields of `resource.Quantity` after Go's parser has read a canonical quantity. */
function parseQuantity(text: string): ParsedQuantity {
  if (text === "0") return { value: 0n, scale: 0, text, format: "DecimalSI" };
  const [, sign = "", whole = "", fraction = "", suffix = ""] =
    /^([+-]?)(\d*)(?:\.(\d*))?(.*)$/.exec(text) ?? [];
  const signed = (value: bigint) => (sign === "-" ? -value : value);
  const integer = whole.replace(/^0+(?=.)/, "");
  const { base, exponent, format } = quantitySuffix(suffix);
  if (base === 2) {
    const number = BigInt(integer || 0);
    const cachedText = (number & 7n) === 0n ? "" : text;
    return { value: signed(number << BigInt(exponent)), scale: 0, text: cachedText, format };
  }
  const digits = integer + fraction;
  const scale = exponent - fraction.length;
  const isCanonical = scale % 3 === 0 && !digits.endsWith("000") && digits[0] !== "0";
  return {
    value: signed(BigInt(digits || 0)),
    scale,
    text: isCanonical ? text : "",
    format,
  };
}
