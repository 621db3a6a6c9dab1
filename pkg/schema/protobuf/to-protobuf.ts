import { memoize, sortedKeys } from "#base";
import protobuf, { type Writer } from "protobufjs/minimal.js";
import { resolved } from "../struct/layout.ts";
import type { Field, Infer, ScalarType, StructType, Type } from "../struct/types.ts";
import { zeroOf } from "../struct/zero.ts";
import { wireTypes, writeInt64 } from "./wire-writer.ts";

/**
 * Encodes an object as Go's generated code does: fields in the order of their numbers; scalars,
 * strings and messages that are not pointers always, even if zero; nil pointers, bytes, lists and
 * maps never; lists unpacked; map entries sorted by the bytes of their keys.
 */
export function toProtobuf<S extends StructType<any>>(struct: S, object: Infer<S>): Uint8Array {
  const writer = protobuf.Writer.create();
  messageOf(struct)(object as Shape, writer);
  return writer.finish();
}

type Shape = Readonly<Record<string, unknown>>;

/** Writes a value after its tag, with its length if the wire type has one. */
type Write = (value: any, writer: Writer) => void;

export function wireTypeOf(type: Type): number {
  const { tag } = resolved(type);
  if (tag === "bool" || tag === "int32" || tag === "int64") return wireTypes.varint;
  return tag === "double" ? wireTypes.fixed64 : wireTypes.delimited;
}

const valueOf: (type: Type) => Write = memoize((type: Type): Write => {
  switch (type.tag) {
    case "string":
      return (value: string, writer) => void writer.string(value);
    case "bool":
      return (value: boolean, writer) => void writer.bool(value);
    case "int32":
      return (value: number, writer) => void writer.int32(value);
    case "int64":
      return writeInt64;
    case "double":
      return (value: number, writer) => void writer.double(value);
    case "bytes":
      if (type.isText) return (value: string, writer) => void writer.string(value);
      return (value: string, writer) => void writer.bytes(Buffer.from(value, "base64"));
    case "scalar":
      return scalarOf(type);
    case "struct":
      return nested(messageOf(type));
    case "lazy": {
      const { resolve } = type;
      let write: Write | undefined;
      return (value, writer) => (write ??= valueOf(resolve()))(value, writer);
    }
    case "list": {
      if (!type.boxed) throw noWireForm(type);
      const write = writeList("items", 1, type.element);
      return nested((items, writer) => write({ items }, writer));
    }
    case "map":
      throw noWireForm(type);
  }
});

/** The error of types that Protobuf cannot represent: lists of lists and maps of maps. */
export function noWireForm(type: Type): TypeError {
  return new TypeError(`no wire form for a ${type.tag} inside a list or map`);
}

function nested(write: Write): Write {
  return (value, writer) => {
    writer.fork();
    write(value, writer);
    writer.ldelim();
  };
}

/** Writes a scalar as the message `wire`; null (a zero Time) as an empty one. */
function scalarOf(type: ScalarType): Write {
  const write = messageOf(type.wire);
  return nested((value, writer) => {
    const message = value === null ? null : type.toWire(value);
    if (message !== null && message !== undefined) write(message, writer);
  });
}

/** The body of a message, without its length. */
const messageOf: (struct: StructType<any>) => Write = memoize((struct: StructType<any>): Write => {
  let fields: readonly Write[] | undefined;
  return (object: Shape, writer) => {
    fields ??= compile(struct);
    for (const write of fields) write(object, writer);
  };
});

function compile(struct: StructType<any>): readonly Write[] {
  return Object.entries<Field>(struct.fields)
    .filter(([, field]) => field.number > 0)
    .sort(([, left], [, right]) => left.number - right.number)
    .map(([name, field]) => writeField(name, field));
}

/** Writes one field of an object with its tag. */
function writeField(name: string, field: Field): Write {
  const type = resolved(field.type);
  const tag = (field.number << 3) | wireTypeOf(type);
  if (field.inline && type.tag === "struct") {
    const write = nested(messageOf(type));
    return (object: Shape, writer) => write(object, writer.uint32(tag));
  }
  if (type.tag === "list" && !type.boxed) return writeList(name, field.number, type.element);
  if (type.tag === "map") return writeMap(name, tag, type.value);
  const write = valueOf(type);
  const isOptional = field.presence.pointer || type.tag === "bytes" || type.tag === "list";
  const zero = isOptional ? () => undefined : zeroOf(type);
  return (object: Shape, writer) => {
    const value = object[name] ?? zero();
    if (value !== undefined) write(value, writer.uint32(tag));
  };
}

function writeList(name: string, number: number, element: Type): Write {
  const tag = (number << 3) | wireTypeOf(element);
  const write = valueOf(element);
  const zero = zeroOf(element);
  return (object: Shape, writer) => {
    const values = object[name] as readonly unknown[] | null | undefined;
    if (values === undefined || values === null) return;
    for (const value of values) write(value ?? zero(), writer.uint32(tag));
  };
}

const keyTag = 0x0a;

function writeMap(name: string, tag: number, type: Type): Write {
  const valueTag = (2 << 3) | wireTypeOf(type);
  const write = valueOf(type);
  const zero = zeroOf(type);
  const skipsNull = resolved(type).tag === "bytes";
  return (object: Shape, writer) => {
    const values = object[name] as Shape | null | undefined;
    if (values === undefined || values === null) return;
    for (const key of sortedKeys(values)) {
      const value = values[key];
      writer.uint32(tag).fork().uint32(keyTag).string(key);
      if (!skipsNull || (value !== null && value !== undefined)) {
        write(value ?? zero(), writer.uint32(valueTag));
      }
      writer.ldelim();
    }
  };
}
