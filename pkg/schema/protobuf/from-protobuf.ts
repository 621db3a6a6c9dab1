import { assign, memoize } from "#base";
import { checkDepth, maxRecursion, tooDeep } from "../fault/depth.ts";
import { DecodeFault, JsonFault } from "../fault/faults.ts";
import { dropsZero, type JsonField, resolved } from "../struct/layout.ts";
import { WireReader } from "./wire-reader.ts";
import { noWireForm, wireTypeOf } from "./to-protobuf.ts";
import { ScalarFault } from "../fault/scalar-fault.ts";
import type { Field, Infer, ScalarType, StructType, Type } from "../struct/types.ts";
import { wireTypes } from "./wire-writer.ts";
import { mapEntryWeight, weightOf } from "../struct/weight.ts";
import { isAlwaysThere, zeroOf } from "../struct/zero.ts";

/**
 * Decodes a message to an object in normal form. Unknown fields are skipped; repeated occurrences of a
 * singular field are merged, as Protobuf requires.
 *
 * @param maxWeight maximum total weight of list elements and map entries, see `weightOf`
 * @throws DecodeFault with the message of Go's generated code for malformed input
 * @throws TooManyValues
 */
export function fromProtobuf<S extends StructType<any>>(
  struct: S,
  bytes: Uint8Array,
  maxWeight = Number.POSITIVE_INFINITY,
): Infer<S> {
  const reader = new WireReader(bytes);
  reader.weightLeft = maxWeight;
  try {
    const object: Shape = {};
    messageOf(struct)(object, reader);
    return object as Infer<S>;
  } catch (fault) {
    if (fault instanceof ScalarFault) throw new DecodeFault(fault.message);
    // A scalar's codec found malformed JSON in its bytes.
    if (fault instanceof JsonFault) throw new DecodeFault(fault.message);
    throw fault;
  }
}

const { delimited } = wireTypes;

type Shape = Record<string, unknown>;

/** Reads one value after its tag; `before` is the value of an earlier occurrence of the field. */
type Read = (reader: WireReader, before?: unknown) => unknown;

const valueOf: (type: Type) => Read = memoize((type: Type): Read => {
  switch (type.tag) {
    case "string":
      return (reader) => reader.string();
    case "bool":
      return (reader) => reader.varint() !== 0;
    case "int32":
      return (reader) => reader.int32();
    case "int64":
      return (reader) => reader.int64();
    case "double":
      return (reader) => reader.double();
    case "bytes":
      return type.isText ? (reader) => reader.string() : (reader) => reader.base64();
    case "scalar":
      return scalarOf(type);
    case "struct":
      return nested(messageOf(type));
    case "lazy": {
      const { resolve } = type;
      let read: Read | undefined;
      return (reader, before) => (read ??= valueOf(resolve()))(reader, before);
    }
    case "list":
      if (!type.boxed) throw noWireForm(type);
      return boxedOf(type.element);
    case "map":
      throw noWireForm(type);
  }
});

/** Reads the fields of the open message into an object. */
type ReadMessage = (object: Shape, reader: WireReader) => void;

function nested(readMessage: ReadMessage): Read {
  return (reader, before) => {
    const object = (before ?? {}) as Shape;
    const outer = reader.enter();
    if (++reader.depth > maxRecursion) throw tooDeep();
    readMessage(object, reader);
    reader.depth--;
    reader.leave(outer);
    return object;
  };
}

function boxedOf(element: Type): Read {
  const { read } = listField("items", element);
  const readMessage = nested((box, reader) => {
    while (reader.next()) {
      if (reader.field === 1 && reader.wireType === wireTypeOf(element)) read(box, reader);
      else reader.skip();
    }
  });
  return (reader) => (readMessage(reader) as { items?: unknown[] }).items ?? null;
}

/** Reads a scalar; an empty message is null if the scalar has no zero value (a zero Time). */
function scalarOf(type: ScalarType): Read {
  const readMessage = nested(messageOf(type.wire));
  return (reader) => {
    const start = reader.at;
    const message = readMessage(reader);
    const isEmpty = reader.at - start === 1;
    if (isEmpty && type.zero === null) return null;
    const value = type.fromWire(message as never);
    if (typeof value === "object") checkDepth(value);
    return value;
  };
}

interface WireField {
  readonly wireType: number;
  readonly read: (object: Shape, reader: WireReader) => void;
  /** Reads a packed list, for lists of numbers. */
  readonly readPacked?: (object: Shape, reader: WireReader) => void;
}

interface Plan {
  readonly byNumber: ReadonlyMap<number, WireField>;
  /** Adds the fields of normal form that are absent on the wire. */
  readonly finish: (object: Shape) => void;
}

const messageOf = memoize((struct: StructType<any>): ReadMessage => {
  let plan: Plan | undefined;
  return (object, reader) => {
    plan ??= compile(struct);
    while (reader.next()) {
      const field = plan.byNumber.get(reader.field);
      if (field?.wireType === reader.wireType) field.read(object, reader);
      else if (field?.readPacked && reader.wireType === delimited) {
        field.readPacked(object, reader);
      } else checkAndSkip(struct, reader, field !== undefined);
    }
    plan.finish(object);
  };
});

function checkAndSkip(struct: StructType<any>, reader: WireReader, isKnown: boolean): void {
  const { field, wireType } = reader;
  if (wireType === wireTypes.endGroup) {
    throw new DecodeFault(`proto: ${struct.name}: wiretype end group for non-group`);
  }
  if (field <= 0 || field > 0x1fff_ffff) {
    throw new DecodeFault(`proto: ${struct.name}: illegal tag ${field} (wire type ${wireType})`);
  }
  if (isKnown) {
    throw new DecodeFault(`proto: wrong wireType = ${wireType} for field number ${field}`);
  }
  reader.skip();
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
  if (type.tag === "map") return { wireType: delimited, read: mapField(name, type.value) };
  const wireType = wireTypeOf(type);
  if (field.inline && type.tag === "struct") {
    const readInto = nested(messageOf(type));
    return { wireType, read: (object, reader) => void readInto(reader, object) };
  }
  const read = valueOf(type);
  if (type.tag === "struct") {
    return {
      wireType,
      read: (object, reader) => {
        object[name] = read(reader, object[name]);
      },
    };
  }
  const isDropped = droppedValues(field, type);
  return {
    wireType,
    read: (object, reader) => {
      const value = read(reader);
      if (!isDropped(value)) object[name] = value;
      else if (object[name] !== undefined) delete object[name];
    },
  };
}

/**
 * Tells which values JSON omits. They are not set in the first place: deleting them would turn nearly
 * every object into a hash table, as Go's encoder writes zero values.
 */
function droppedValues(field: JsonField, type: Type): (value: unknown) => boolean {
  if (isAlwaysThere(field)) return () => false;
  if (type.tag === "scalar") return (value) => value === null;
  if (!dropsZero(field)) return () => false;
  return (value) => value === "" || value === 0 || value === false;
}

function listField(name: string, element: Type): WireField {
  const wireType = wireTypeOf(element);
  const readElement = valueOf(element);
  let weight: number | undefined;
  const read: WireField["read"] = (object, reader) => {
    reader.spend((weight ??= weightOf(element)));
    ((object[name] ??= []) as unknown[]).push(readElement(reader));
  };
  if (wireType === delimited) return { wireType, read };
  return {
    wireType,
    read,
    readPacked: (object, reader) => {
      const outer = reader.enter();
      while (reader.at < reader.end) read(object, reader);
      reader.leave(outer);
    },
  };
}

function mapField(name: string, type: Type): WireField["read"] {
  const wireType = wireTypeOf(type);
  const readValue = valueOf(type);
  const zero = zeroOf(type);
  let weight: number | undefined;
  return (object, reader) => {
    reader.spend((weight ??= mapEntryWeight(type)));
    const outer = reader.enter();
    let key = "";
    let value: unknown;
    while (reader.next()) {
      if (reader.field === 1 && reader.wireType === delimited) key = reader.string();
      else if (reader.field === 2 && reader.wireType === wireType) value = readValue(reader);
      else reader.skip();
    }
    reader.leave(outer);
    assign((object[name] ??= {}) as Shape, key, value === undefined ? zero() : value);
  };
}

/** Adds a value that JSON always writes. */
function finisher(field: JsonField): ((object: Shape) => void) | undefined {
  const { name } = field;
  const type = resolved(field.type);
  if (field.inline && type.tag === "struct") return inlineFinisher(type);
  if (!isAlwaysThere(field)) return undefined;
  const zero = zeroOf(field);
  return (object) => {
    if (object[name] === undefined) object[name] = zero();
  };
}

/** Adds the always-written fields of an inline message that is absent on the wire. */
function inlineFinisher(type: StructType<any>): (object: Shape) => void {
  const empty = Buffer.alloc(0);
  const readMessage = messageOf(type);
  return (object) => readMessage(object, new WireReader(empty));
}
