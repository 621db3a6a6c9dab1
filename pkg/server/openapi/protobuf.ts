/**
 * Encodes JSON documents as the Protobuf messages of gnostic (openapi.v2 and openapi.v3), by the
 * mapping of JSON values to fields in shapes.ts.
 */
import { printJson } from "#base";
import { WireWriter } from "#schema";

/** How a JSON value becomes the content of a Protobuf field. */
export type Shape =
  | { readonly tag: "string" | "bool" | "int64" | "double" }
  /** Any JSON value, as text. */
  | { readonly tag: "any" }
  /** An object whose keys are fields; keys that begin with `x-` go to the field `extensions`. */
  | {
      readonly tag: "message";
      readonly fields: Readonly<Record<string, Member>>;
      readonly extensions?: number;
    }
  /** An object with arbitrary keys: a message with repeated name-value pairs in field `number`. */
  | { readonly tag: "named"; readonly number: number; readonly value: Shape }
  /** A message with the value in a single field. */
  | { readonly tag: "wrapped"; readonly number: number; readonly value: Shape }
  /** A message with one repeated field, for a list or a single element. */
  | { readonly tag: "elements"; readonly number: number; readonly value: Shape }
  /** A message with one field that depends on the value; undefined omits the message. */
  | { readonly tag: "choice"; readonly choose: (value: any) => Member | undefined }
  | { readonly tag: "lazy"; readonly resolve: () => Shape };

/** Field number and shape; a JSON list becomes a repeated field. */
export type Member = readonly [number: number, shape: Shape];

/** Encodes a JSON value as the message that `shape` describes. */
export function encodeMessage(shape: Shape, value: unknown): Uint8Array {
  const writer = new WireWriter();
  writeContent(writer, shape, value);
  return writer.finish();
}

/** A length-delimited field with the concatenation of encoded messages as its content. */
export function lengthDelimited(number: number, messages: readonly Uint8Array[]): Uint8Array[] {
  const writer = new WireWriter();
  writer.prefix(
    number,
    messages.reduce((size, { length }) => size + length, 0),
  );
  return [writer.finish(), ...messages];
}

/** Writes the fields of a message, without its tag and length. */
function writeContent(writer: WireWriter, shape: Shape, value: any): void {
  switch (shape.tag) {
    case "message":
      return writeMessage(writer, shape, value);
    case "named":
      for (const [name, entry] of Object.entries(value)) {
        writer.message(shape.number, (inner) => writeNamed(inner, name, [2, shape.value, entry]));
      }
      return;
    case "wrapped":
    case "elements":
      return writeField(writer, [shape.number, shape.value], value);
    case "choice": {
      const member = shape.choose(value);
      if (member !== undefined) writeField(writer, member, value);
      return;
    }
    case "any":
      return void writer.string(2, `${printJson(value)}\n`);
    case "lazy":
      return writeContent(writer, shape.resolve(), value);
    default:
      throw new TypeError(`a ${shape.tag} is not a message`);
  }
}

function writeNamed(
  writer: WireWriter,
  name: string,
  value: readonly [number, Shape, unknown],
): void {
  const [number, shape, content] = value;
  writer.string(1, name);
  writeOne(writer, [number, shape], content);
}

const anyShape: Shape = { tag: "any" };

function writeMessage(writer: WireWriter, shape: Shape & { tag: "message" }, value: object): void {
  for (const [key, content] of Object.entries(value)) {
    if (Object.hasOwn(shape.fields, key)) {
      writeField(writer, shape.fields[key]!, content);
    } else if (key.startsWith("x-") && shape.extensions !== undefined) {
      const { extensions } = shape;
      writer.message(extensions, (inner) => writeNamed(inner, key, [2, anyShape, content]));
    }
  }
}

/** Writes a field; a list is a repeated field, except in the shape `elements`. */
function writeField(writer: WireWriter, member: Member, value: unknown): void {
  if (Array.isArray(value) && member[1].tag !== "elements") {
    for (const element of value) writeOne(writer, member, element);
  } else {
    writeOne(writer, member, value);
  }
}

function writeOne(writer: WireWriter, [number, shape]: Member, value: any): void {
  switch (shape.tag) {
    case "string":
      return void writer.string(number, String(value));
    case "bool":
      return void writer.bool(number, value === true);
    case "int64":
      return void writer.number(number, value);
    case "double":
      return void writer.double(number, value);
    case "choice":
      // The field is omitted: an empty message would mean that it is present.
      if (shape.choose(value) === undefined) return;
      return void writer.message(number, (inner) => writeContent(inner, shape, value));
    default:
      return void writer.message(number, (inner) => writeContent(inner, shape, value));
  }
}
