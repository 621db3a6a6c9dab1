import {
  assign,
  compareUtf8,
  deepClone,
  deepCloneInSlices,
  memoize,
  OpaqueJson,
  printJson,
  sliceLength,
  type Slices,
  sortedKeys,
  sortedKeysInSlices,
} from "#base";
import { dropsZero, FieldOrder, jsonFields, type JsonField, resolved } from "../struct/layout.ts";
import type { Infer, StructType, Type } from "../struct/types.ts";
import { isAlwaysThere, zeroOf } from "../struct/zero.ts";

export interface TypeMeta {
  readonly kind: string;
  readonly apiVersion: string;
}

/**
 * JSON as of Go's encoder: kind and apiVersion, then fields in the order of declaration,
 * map keys sorted by bytes, `<`, `>`, `&`, U+2028 and U+2029 escaped, no white space.
 */
export function toJson<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  typeMeta?: TypeMeta,
): string {
  const print = structPrinterOf(struct);
  if (typeMeta === undefined) return escapedForHtml(print(object, ""));
  const { kind, apiVersion } = typeMeta;
  const head = `{"kind":${printString(kind)},"apiVersion":${printString(apiVersion)}`;
  return escapedForHtml(print(object, head));
}

/** As `toJson`; the open members of custom resources are printed in slices. */
export function* toJsonInSlices<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  typeMeta: TypeMeta,
): Slices<string> {
  if (struct.open === undefined) return toJson(struct, object, typeMeta);
  const members = openMembers(struct, object as Readonly<Record<string, unknown>>);
  const declared: Record<string, unknown> = { ...object };
  for (const [key] of members) delete declared[key];
  let text = toJson(struct, declared as Infer<S>, typeMeta).slice(0, -1);
  for (const [key, value] of members) {
    yield;
    const printed = `${printString(key)}:${yield* printSortedInSlices(value)}`;
    yield;
    text += `,${escapedForHtml(printed)}`;
  }
  return `${text}}`;
}

/** Escapes the text as a whole, as the characters occur only in strings. */
export function escapedForHtml(json: string): string {
  if (!escaped.some((character) => json.includes(character))) return json;
  return json.replace(
    /[<>&\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const escaped = ["<", ">", "&", "\u2028", "\u2029"];

type Print = (value: any) => string;
/** @param head start of the text: "", or an open brace and members */
type PrintStruct = (object: any, head: string) => string;

const printerOf: (type: Type) => Print = memoize((type: Type): Print => {
  switch (type.tag) {
    case "string":
    case "bytes":
      return printString;
    case "bool":
    case "int32":
    case "int64":
      return String;
    case "double":
      return JSON.stringify;
    case "scalar":
      return printValue;
    case "list":
      return printList(type.element);
    case "map":
      return printMap(type.value);
    case "struct": {
      const print = structPrinterOf(type);
      return (object) => print(object, "");
    }
    case "lazy": {
      const { resolve } = type;
      let print: Print | undefined;
      return (value) => (print ??= printerOf(resolve()))(value);
    }
  }
});

/** Length up to which a loop is faster than a regular expression. */
const shortLength = 48;
/** Characters that must be escaped, and surrogates. */
const needsEscape = /[^ !#-[\]-\ud7ff]/;

/** Quotes a string; one without escapes is only scanned. */
function printString(text: string): string {
  const { length } = text;
  if (length > shortLength) return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
  for (let index = 0; index < length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || unit > 0xd7ff) return JSON.stringify(text);
  }
  return `"${text}"`;
}

/**
 * Values of scalars: strings, numbers, null, or any JSON (which may hold bigints and unsorted
 * maps).
 */
function printValue(value: unknown): string {
  if (typeof value === "string") return printString(value);
  if (typeof value !== "object" || value === null) return String(value);
  return value instanceof OpaqueJson ? value.text : printJson(value);
}

function printList(element: Type): Print {
  const print = printerOf(element);
  return (values: readonly unknown[]) => {
    if (values.length === 0) return "[]";
    let text = `[${print(values[0])}`;
    for (let index = 1; index < values.length; index++) text += `,${print(values[index])}`;
    return `${text}]`;
  };
}

function printMap(type: Type): Print {
  const print = printerOf(type);
  return (values: Readonly<Record<string, unknown>>) => {
    let text = "";
    for (const key of sortedKeys(values)) {
      const value = values[key];
      if (value === undefined) continue;
      const printed = value === null ? "null" : print(value);
      text += `${text === "" ? "{" : ","}${printString(key)}:${printed}`;
    }
    return text === "" ? "{}" : `${text}}`;
  };
}

interface FieldWriter {
  readonly name: string;
  /** Index in the order of declaration. */
  readonly place: number;
  /** `{"name":`, and `,"name":` */
  readonly first: string;
  readonly next: string;
  readonly type: Type;
  readonly dropsZero: boolean;
  readonly isMap: boolean;
  readonly dropsNull: boolean;
  /** Text of an absent value, for a field that is always written. */
  readonly zero: (() => unknown) | undefined;
}

const writersOf = memoize((struct: StructType<any>): readonly FieldWriter[] =>
  jsonFields(struct).map((field, place) => ({
    name: field.name,
    place,
    first: `{${JSON.stringify(field.name)}:`,
    next: `,${JSON.stringify(field.name)}:`,
    type: field.type,
    dropsZero: dropsZero(field) && resolved(field.type).tag !== "scalar",
    isMap: resolved(field.type).tag === "map",
    dropsNull: field.presence.omitEmpty && !isShownScalar(field),
    zero: isAlwaysThere(field) ? zeroOf(field) : undefined,
  })),
);

function isShownScalar(field: JsonField): boolean {
  return resolved(field.type).tag === "scalar" && isAlwaysThere(field);
}

/** The value of a field, or undefined if it is omitted. */
function written(field: FieldWriter, object: Readonly<Record<string, unknown>>): unknown {
  const value = present(field, object);
  return field.dropsZero && isZero(value) ? undefined : value;
}

/** As `written`, without the check for zero values. */
function present(field: FieldWriter, object: Readonly<Record<string, unknown>>): unknown {
  const value = object[field.name];
  if (value === undefined) return field.zero?.();
  return value === null && field.dropsNull ? field.zero?.() : value;
}

function isZero(value: unknown): boolean {
  if (typeof value !== "object") {
    return value === "" || value === false || value === 0 || value === 0n;
  }
  if (Array.isArray(value)) return value.length === 0;
  for (const _key in value) return false;
  return true;
}

const structPrinterOf = memoize((struct: StructType<any>): PrintStruct => {
  let order: FieldOrder<FieldWriter & { readonly print: Print }> | undefined;
  // The text is only concatenated, as slicing would copy it.
  return (object: Readonly<Record<string, unknown>>, head) => {
    order ??= new FieldOrder(
      writersOf(struct).map((field) => ({ ...field, print: printerOf(field.type) })),
    );
    let text = head;
    for (const field of order.fieldsOf(object)) {
      // Maps are not checked for emptiness, as that takes as long as listing the keys, which follows.
      const value = field.isMap ? present(field, object) : written(field, object);
      if (value === undefined) continue;
      const printed = value === null ? "null" : field.print(value);
      if (field.isMap && field.dropsZero && printed === "{}") continue;
      text += text === "" ? field.first : field.next;
      text += printed;
    }
    for (const [key, value] of openMembers(struct, object)) {
      text += `${text === "" ? "{" : ","}${printString(key)}:${printSorted(value)}`;
    }
    return text === "" ? "{}" : `${text}}`;
  };
});

const noMembers: readonly (readonly [string, unknown])[] = [];

/** Undeclared members of an open struct, sorted by name. */
function openMembers(
  struct: StructType<any>,
  object: Readonly<Record<string, unknown>>,
): readonly (readonly [string, unknown])[] {
  if (struct.open === undefined) return noMembers;
  return sortedKeys(object)
    .filter((key) => object[key] !== undefined && !Object.hasOwn(struct.fields, key))
    .map((key) => [key, object[key]] as const);
}

/** JSON with the members of all objects sorted, deterministically. */
function printSorted(value: unknown): string {
  if (typeof value === "string") return printString(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return printSortedList(value);
  const members = value as Readonly<Record<string, unknown>>;
  let text = "";
  for (const key of sortedKeys(members)) {
    const member = members[key];
    if (member === undefined) continue;
    text += `${text === "" ? "{" : ","}${printString(key)}:${printSorted(member)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

/** As `printSorted`, in slices. */
function* printSortedInSlices(value: unknown): Slices<string> {
  if (typeof value !== "object" || value === null) return printSorted(value);
  let text = "";
  if (Array.isArray(value)) {
    for (let from = 0; from < value.length; from += sliceLength) {
      const part = printSortedList(value.slice(from, from + sliceLength));
      text += `${text === "" ? "[" : ","}${part.slice(1, -1)}`;
      yield;
    }
    return text === "" ? "[]" : `${text}]`;
  }
  const members = value as Readonly<Record<string, unknown>>;
  const keys = yield* sortedKeysInSlices(members);
  for (const [index, key] of keys.entries()) {
    if (index % sliceLength === 0) yield;
    const member = members[key];
    if (member === undefined) continue;
    const printed =
      typeof member === "object" ? yield* printSortedInSlices(member) : printSorted(member);
    text += `${text === "" ? "{" : ","}${printString(key)}:${printed}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

/** Minimum length of lists that are checked for sorted members. */
const longList = 16;

/** Values from the store are sorted, for which the native printer takes a tenth of the time. */
function printSortedList(values: readonly unknown[]): string {
  if (values.length === 0) return "[]";
  if (values.length >= longList && isSorted(values)) return printJson(values);
  let text = `[${printSorted(values[0])}`;
  for (let index = 1; index < values.length; index++) text += `,${printSorted(values[index])}`;
  return `${text}]`;
}

/** Whether the members of all objects in a JSON value are sorted. */
function isSorted(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  const members = value as Readonly<Record<string, unknown>>;
  let last: string | undefined;
  for (const key in members) {
    if (last !== undefined && compareUtf8(last, key) > 0) return false;
    last = key;
    const member = members[key];
    if (typeof member === "object" && !isSorted(member)) return false;
  }
  return true;
}

/** A field of a struct as a JSON member. */
interface JsonMember {
  readonly field: JsonField;
  /** The JSON value of the field in an object; undefined if it is omitted. */
  readonly shown: (object: Readonly<Record<string, unknown>>) => unknown;
  /** Whether the member is always present. */
  readonly isAlwaysThere: boolean;
}

/** The fields of a struct as `toJson` prints them, in the order of Go's declaration. */
export const jsonMembers = memoize((struct: StructType<any>): readonly JsonMember[] => {
  const writers = writersOf(struct);
  return jsonFields(struct).map((field, index) => {
    const writer = writers[index] as FieldWriter;
    const { name } = field;
    // Most fields have nothing to drop but nulls.
    const isSimple = writer.zero === undefined && writer.dropsNull && !writer.dropsZero;
    return {
      field,
      shown: isSimple ? (object) => object[name] ?? undefined : (object) => written(writer, object),
      isAlwaysThere: writer.zero !== undefined,
    };
  });
});

/**
 * The value that `toJson` prints: new objects with fields in Go's order, which share only values that a
 * scalar's codec returns with `object`.
 */
export function toJsonValue<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  typeMeta?: TypeMeta,
): Record<string, unknown> {
  const value = copierOf(struct)(object) as Record<string, unknown>;
  if (typeMeta === undefined) return value;
  return { kind: typeMeta.kind, apiVersion: typeMeta.apiVersion, ...value };
}

/** As `toJsonValue`, in slices: field by field, maps and the open members of custom resources in parts. */
export function* toJsonValueInSlices<S extends StructType<any>>(
  struct: S,
  object: Infer<S>,
  typeMeta?: TypeMeta,
): Slices<Record<string, unknown>> {
  const members = object as Readonly<Record<string, unknown>>;
  const copied: Record<string, unknown> =
    typeMeta === undefined ? {} : { kind: typeMeta.kind, apiVersion: typeMeta.apiVersion };
  for (const field of writersOf(struct)) {
    const value = written(field, members);
    if (value === undefined) continue;
    const type = resolved(field.type);
    copied[field.name] =
      type.tag === "map" && value !== null
        ? yield* copyMapInSlices(type.value, value as Readonly<Record<string, unknown>>)
        : copyOrNull(copierOf(type), value);
    yield;
  }
  for (const [key, value] of openMembers(struct, members)) {
    assign(copied, key, yield* deepCloneInSlices(value));
  }
  return copied;
}

function* copyMapInSlices(
  type: Type,
  values: Readonly<Record<string, unknown>>,
): Slices<Record<string, unknown>> {
  const copy = copierOf(type);
  const copied: Record<string, unknown> = {};
  const keys = yield* sortedKeysInSlices(values);
  for (const [index, key] of keys.entries()) {
    if (index % sliceLength === 0) yield;
    if (values[key] !== undefined) assign(copied, key, copyOrNull(copy, values[key]));
  }
  return copied;
}

type Copy = (value: any) => unknown;

const copierOf: (type: Type) => Copy = memoize((type: Type): Copy => {
  switch (type.tag) {
    case "scalar":
      return type.toJson ?? deepClone;
    case "list": {
      const copy = copierOf(type.element);
      return (values: readonly unknown[]) => values.map((value) => copyOrNull(copy, value));
    }
    case "map": {
      const copy = copierOf(type.value);
      return (values: Readonly<Record<string, unknown>>) => {
        const copied: Record<string, unknown> = {};
        for (const key of sortedKeys(values)) {
          if (values[key] !== undefined) assign(copied, key, copyOrNull(copy, values[key]));
        }
        return copied;
      };
    }
    case "struct":
      return copyStruct(type);
    case "lazy": {
      const { resolve } = type;
      let copy: Copy | undefined;
      return (value) => (copy ??= copierOf(resolve()))(value);
    }
    default:
      return (value) => value;
  }
});

function copyOrNull(copy: Copy, value: unknown): unknown {
  return value === null || value === undefined ? null : copy(value);
}

function copyStruct(struct: StructType<any>): Copy {
  let order: FieldOrder<FieldWriter & { readonly copy: Copy }> | undefined;
  return (object: Readonly<Record<string, unknown>>) => {
    order ??= new FieldOrder(
      writersOf(struct).map((field) => ({ ...field, copy: copierOf(field.type) })),
    );
    const copied: Record<string, unknown> = {};
    for (const field of order.fieldsOf(object)) {
      const value = written(field, object);
      if (value !== undefined) copied[field.name] = copyOrNull(field.copy, value);
    }
    for (const [key, value] of openMembers(struct, object)) assign(copied, key, deepClone(value));
    return copied;
  };
}
