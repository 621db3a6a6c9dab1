import { assign, memoize } from "#base";
import { checkDepth, MAX_RECURSION, tooDeep } from "../fault/depth.ts";
import { DecodeFault } from "../fault/faults.ts";
import { dropsZero, type JsonField, resolved } from "../struct/layout.ts";
import { WireReader } from "./protobuf-reader.ts";
import { noWireForm, wireTypeOf } from "./protobuf-write.ts";
import { ScalarFault } from "../fault/scalar-fault.ts";
import type { Field, Infer, ScalarType, StructType, Type } from "../struct/types.ts";
import { isAlwaysThere, zeroOf } from "../struct/zero.ts";

/**
 * The object of a message, in normal form. Unknown fields are passed over, repeated single fields
 * merge as Protobuf says.
 *
 * @throws DecodeFault with the words of Go's generated code for anything that is no such message
 */
export function fromProtobuf<S extends StructType<any>>(struct: S, bytes: Uint8Array): Infer<S> {
  const reader = new WireReader(bytes);
  try {
    const object: Shape = {};
    messageOf(struct)(object, reader, reader.buffer.length);
    return object as Infer<S>;
  } catch (fault) {
    if (fault instanceof ScalarFault) throw new DecodeFault(fault.message);
    // A scalar may find that its bytes are not the JSON they should be.
    if (fault instanceof SyntaxError) throw new DecodeFault(fault.message);
    throw fault;
  }
}

type Shape = Record<string, unknown>;

/** Reads one value behind its tag; `before` is what an earlier occurrence of the field left. */
type Read = (reader: WireReader, end: number, before?: unknown) => unknown;

const valueOf: (type: Type) => Read = memoize((type: Type): Read => {
  switch (type.tag) {
    case "string":
      return (reader, end) => reader.string(end);
    case "bool":
      return (reader, end) => reader.varint(end) !== 0;
    case "int32":
      return (reader, end) => reader.int32(end);
    case "int64":
      return (reader, end) => reader.int64(end);
    case "double":
      return (reader, end) => reader.double(end);
    case "bytes":
      return (reader, end) => reader.base64(end);
    case "scalar":
      return scalarOf(type);
    case "struct":
      return nested(messageOf(type));
    case "lazy": {
      const { resolve } = type;
      let read: Read | undefined;
      return (reader, end, before) => (read ??= valueOf(resolve()))(reader, end, before);
    }
    case "list":
      if (!type.boxed) throw noWireForm(type);
      return boxedOf(type.element);
    case "map":
      throw noWireForm(type);
  }
});

/** Reads fields into an object until `end`. */
type ReadMessage = (object: Shape, reader: WireReader, end: number) => void;

function nested(readMessage: ReadMessage): Read {
  return (reader, end, before) => {
    const object = (before ?? {}) as Shape;
    const stop = reader.delimited(end);
    if (++reader.depth > MAX_RECURSION) throw tooDeep();
    readMessage(object, reader, stop);
    reader.depth--;
    return object;
  };
}

function boxedOf(element: Type): Read {
  const { read } = listField("items", element);
  const readMessage = nested((box, reader, end) => {
    while (reader.at < end) {
      const tag = reader.varint(end);
      if (tag === 8 + wireTypeOf(element)) read(box, reader, end);
      else reader.skip(tag % 8, end);
    }
  });
  return (reader, end) => (readMessage(reader, end) as { items?: unknown[] }).items ?? null;
}

/** An empty message of a scalar that has no zero value of its own is its absence (a zero Time). */
function scalarOf(type: ScalarType): Read {
  const readMessage = nested(messageOf(type.wire));
  return (reader, end) => {
    const start = reader.at;
    const message = readMessage(reader, end);
    const isEmpty = reader.at - start === 1;
    if (isEmpty && type.zero === null) return null;
    const value = type.fromWire(message as never);
    if (typeof value === "object") checkDepth(value);
    return value;
  };
}

interface WireField {
  readonly wireType: number;
  readonly read: (object: Shape, reader: WireReader, end: number) => void;
  /** Reads a packed list, for lists of numbers. */
  readonly readPacked?: (object: Shape, reader: WireReader, end: number) => void;
}

interface Plan {
  readonly byNumber: ReadonlyMap<number, WireField>;
  /** Brings what was read into normal form. */
  readonly finish: (object: Shape) => void;
}

const messageOf = memoize((struct: StructType<any>): ReadMessage => {
  let plan: Plan | undefined;
  return (object, reader, end) => {
    plan ??= compile(struct);
    while (reader.at < end) {
      const tag = reader.varint(end);
      const number = Math.floor(tag / 8);
      const wireType = tag % 8;
      const field = plan.byNumber.get(number);
      if (field?.wireType === wireType) field.read(object, reader, end);
      else if (field?.readPacked && wireType === 2) field.readPacked(object, reader, end);
      else checkAndSkip({ struct, number, wireType, isKnown: field !== undefined }, reader, end);
    }
    plan.finish(object);
  };
});

interface OddField {
  readonly struct: StructType<any>;
  readonly number: number;
  readonly wireType: number;
  readonly isKnown: boolean;
}

function checkAndSkip(odd: OddField, reader: WireReader, end: number): void {
  const { struct, number, wireType, isKnown } = odd;
  if (wireType === 4) {
    throw new DecodeFault(`proto: ${struct.name}: wiretype end group for non-group`);
  }
  if (number <= 0 || number > 0x1fff_ffff) {
    throw new DecodeFault(`proto: ${struct.name}: illegal tag ${number} (wire type ${wireType})`);
  }
  if (isKnown) {
    throw new DecodeFault(`proto: wrong wireType = ${wireType} for field number ${number}`);
  }
  reader.skip(wireType, end);
}

function compile(struct: StructType<any>): Plan {
  const fields = Object.entries<Field>(struct.fields).map(([name, field]) => ({ ...field, name }));
  const byNumber = new Map(
    fields.filter((field) => field.number > 0).map((field) => [field.number, wireField(field)]),
  );
  const finishers = fields.map(finisher).filter((finish) => finish !== undefined);
  return {
    byNumber,
    finish: (object) => {
      for (const finish of finishers) finish(object);
    },
  };
}

function wireField(field: JsonField): WireField {
  const { name } = field;
  const type = resolved(field.type);
  if (type.tag === "list" && !type.boxed) return listField(name, type.element);
  if (type.tag === "map") return { wireType: 2, read: mapField(name, type.value) };
  const wireType = wireTypeOf(type);
  if (field.inline && type.tag === "struct") {
    const readInto = nested(messageOf(type));
    return { wireType, read: (object, reader, end) => void readInto(reader, end, object) };
  }
  const read = valueOf(type);
  if (type.tag === "struct") {
    return {
      wireType,
      read: (object, reader, end) => {
        object[name] = read(reader, end, object[name]);
      },
    };
  }
  return {
    wireType,
    read: (object, reader, end) => {
      object[name] = read(reader, end);
    },
  };
}

function listField(name: string, element: Type): WireField {
  const wireType = wireTypeOf(element);
  const readElement = valueOf(element);
  const read: WireField["read"] = (object, reader, end) => {
    ((object[name] ??= []) as unknown[]).push(readElement(reader, end));
  };
  if (wireType === 2) return { wireType, read };
  return {
    wireType,
    read,
    readPacked: (object, reader, end) => {
      const stop = reader.delimited(end);
      while (reader.at < stop) read(object, reader, stop);
    },
  };
}

function mapField(name: string, type: Type): WireField["read"] {
  const wireType = wireTypeOf(type);
  const readValue = valueOf(type);
  const zero = zeroOf(type);
  return (object, reader, end) => {
    const stop = reader.delimited(end);
    let key = "";
    let value: unknown;
    while (reader.at < stop) {
      const tag = reader.varint(stop);
      if (tag === 0x0a) key = reader.string(stop);
      else if (tag === 0x10 + wireType) value = readValue(reader, stop);
      else reader.skip(tag % 8, stop);
    }
    assign((object[name] ??= {}) as Shape, key, value === undefined ? zero() : value);
  };
}

/** Drops what JSON leaves out and fills in what is always there. */
function finisher(field: JsonField): ((object: Shape) => void) | undefined {
  const { name } = field;
  const type = resolved(field.type);
  if (field.inline && type.tag === "struct") return inlineFinisher(type);
  if (isAlwaysThere(field)) {
    const zero = zeroOf(field);
    return (object) => {
      if (object[name] === undefined) object[name] = zero();
    };
  }
  if (type.tag === "scalar") {
    return (object) => {
      if (object[name] === null) delete object[name];
    };
  }
  if (!dropsZero(field)) return undefined;
  return (object) => {
    const value = object[name];
    if (value === "" || value === 0 || value === false) delete object[name];
  };
}

/** An inline message that is not on the wire still has its always-written fields. */
function inlineFinisher(type: StructType<any>): (object: Shape) => void {
  const empty = Buffer.alloc(0);
  const readMessage = messageOf(type);
  return (object) => readMessage(object, new WireReader(empty), 0);
}
