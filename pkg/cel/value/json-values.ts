/** Adapters that present JSON of a declared type as CEL values without copying. */
import { OpaqueJson } from "#base";
import { dyn, type CelType, type ListSemantics, parameterOf } from "../check/types.ts";
import { parseDateTimeFormat, parseDurationFormat } from "./time-formats.ts";
import { escapeProperty } from "../syntax/escape.ts";
import { canonical, CelFault, Double, equal, ListValue, MapValue, Opaque } from "./values.ts";
import { Duration, OptionalValue, Timestamp, TypeValue, Uint, type Value } from "./values.ts";

/** Adapts a JSON value; CEL values are returned unchanged. */
export function adapt(raw: unknown, type: CelType): Value {
  switch (typeof raw) {
    case "string":
      return type.kind === "string" || type.kind === "dyn" ? raw : adaptText(raw, type);
    case "number":
      if (type.kind === "double" || !Number.isSafeInteger(raw)) return new Double(raw);
      return type.kind === "uint" ? new Uint(BigInt(raw)) : raw;
    case "boolean":
      return raw;
    case "bigint":
      if (type.kind === "double") return new Double(Number(raw));
      return type.kind === "uint" ? new Uint(raw) : canonical(raw);
    case "object":
      return raw === null ? null : adaptObject(raw, type);
    default:
      return null;
  }
}

function adaptText(text: string, type: CelType): Value {
  switch (type.kind) {
    case "bytes":
      return decodeBase64(text);
    case "timestamp":
      return parseDateTimeFormat(text);
    case "duration":
      return parseDurationFormat(text);
    default:
      return text;
  }
}

function adaptObject(raw: object, type: CelType): Value {
  if (Array.isArray(raw)) return jsonList(raw, type);
  if (isValue(raw)) return raw;
  if (raw instanceof OpaqueJson) return adapt(raw.value, type);
  const shape = raw as Readonly<Record<string, unknown>>;
  if (type.kind === "object") return new JsonObject(shape, type);
  return new JsonMap(shape, type.kind === "map" ? parameterOf(type, 1) : dyn);
}

function isValue(raw: object): raw is Exclude<Value, null | boolean | number | bigint | string> {
  return (
    raw instanceof ListValue ||
    raw instanceof MapValue ||
    raw instanceof Opaque ||
    raw instanceof Double ||
    raw instanceof Uint ||
    raw instanceof Timestamp ||
    raw instanceof Duration ||
    raw instanceof OptionalValue ||
    raw instanceof TypeValue ||
    raw instanceof Uint8Array
  );
}

function jsonList(raw: readonly unknown[], type: CelType): ListValue {
  const element = type.kind === "list" ? parameterOf(type) : dyn;
  const { semantics } = type;
  if (semantics === undefined) return new JsonList(raw, element, type.kind !== "list");
  const items = raw.map((item) => adapt(item, element));
  return semantics.kind === "set" ? new SetList(items) : new KeyedList(items, semantics);
}

/** Decodes base64url, as Kubernetes does for the format `byte`. @throws CelFault */
function decodeBase64(text: string): Uint8Array {
  const data = text.replace(/[\r\n]/g, "");
  const [valid = ""] = /^(?:[\w-]{4})*(?:[\w-]{2}==|[\w-]{3}=)?/.exec(data) ?? [];
  if (valid.length === data.length) return Buffer.from(data, "base64url");
  const invalidOffset = data.slice(valid.length).search(/[^\w-]/);
  const at = valid.length + (invalidOffset < 0 ? data.length - valid.length : invalidOffset);
  throw new CelFault(
    `Invalid byte formatted string ${text}: illegal base64 data at input byte ${at}`,
  );
}

class JsonList extends ListValue {
  constructor(
    private readonly raw: readonly unknown[],
    private readonly element: CelType,
    override readonly takesAnyNumber: boolean,
  ) {
    super();
  }
  override get length(): number {
    return this.raw.length;
  }
  override at(index: number): Value {
    return adapt(this.raw[index], this.element);
  }
}

/** List of type set: order is ignored, and `+` is union. */
class SetList extends ListValue {
  override readonly takesAnyNumber = false;
  constructor(private readonly items: readonly Value[]) {
    super();
  }
  override get length(): number {
    return this.items.length;
  }
  override at(index: number): Value {
    return this.items[index] ?? null;
  }
  override equals(other: ListValue): boolean {
    if (this.length !== other.length) return false;
    const index = new MembershipIndex([...other]);
    return this.items.every((item) => index.has(item));
  }
  override concat(other: ListValue): ListValue {
    const index = new MembershipIndex(this.items);
    return new SetList([...this.items, ...[...other].filter((item) => !index.has(item))]);
  }
}

/** Membership test; by hash for scalars. */
class MembershipIndex {
  private readonly scalars = new Set<Value>();
  private readonly others: Value[] = [];

  constructor(items: readonly Value[]) {
    for (const item of items) {
      if (typeof item === "object" && item !== null) this.others.push(item);
      else this.scalars.add(item);
    }
  }
  has(item: Value): boolean {
    return this.scalars.has(item) || this.others.some((other) => equal(other, item));
  }
}

/** List of type map: elements are matched by key; `+` replaces elements with the same key in place. */
class KeyedList extends ListValue {
  override readonly takesAnyNumber = false;
  constructor(
    private readonly items: readonly Value[],
    private readonly semantics: Extract<ListSemantics, { kind: "map" }>,
  ) {
    super();
  }
  override get length(): number {
    return this.items.length;
  }
  override at(index: number): Value {
    return this.items[index] ?? null;
  }
  override equals(other: ListValue): boolean {
    if (this.length !== other.length) return false;
    const byKey = new Map([...other].map((item) => [this.keyOf(item), item]));
    return this.items.every((item) => {
      const match = byKey.get(this.keyOf(item));
      return match !== undefined && equal(item, match);
    });
  }
  override concat(other: ListValue): ListValue {
    const merged = new Map(this.items.map((item) => [this.keyOf(item), item]));
    for (const item of other) merged.set(this.keyOf(item), item);
    return new KeyedList([...merged.values()], this.semantics);
  }
  private keyOf(item: Value): string {
    const parts = this.semantics.keys.map((key) => {
      const part = item instanceof MapValue ? item.field(key) : undefined;
      return part === undefined ? null : [typeof part, String(part)];
    });
    return JSON.stringify(parts);
  }
}

class JsonMap extends MapValue {
  override readonly typeName = "map";
  constructor(
    private readonly raw: Readonly<Record<string, unknown>>,
    private readonly element: CelType,
  ) {
    super();
  }
  override get size(): number {
    return Object.keys(this.raw).length;
  }
  override find(key: Value): Value | undefined {
    return typeof key === "string" ? this.field(key) : undefined;
  }
  override field(name: string): Value | undefined {
    if (!Object.hasOwn(this.raw, name)) return undefined;
    const value = this.raw[name];
    return value === undefined ? undefined : adapt(value, this.element);
  }
  override keys(): Iterable<Value> {
    return Object.keys(this.raw);
  }
}

/** An object with declared fields; other properties are not accessible. */
export class JsonObject extends MapValue {
  constructor(
    readonly raw: Readonly<Record<string, unknown>>,
    private readonly type: CelType,
    /** Result of `type(x)`: "map" for data, the type's name for constructed objects. */
    override readonly typeName = "map",
  ) {
    super();
  }
  override get size(): number {
    return Object.keys(this.raw).length;
  }
  override find(key: Value): Value | undefined {
    return typeof key === "string" ? this.field(key) : undefined;
  }
  override field(name: string): Value | undefined {
    const field = this.type.object?.field(name);
    if (field === undefined || !Object.hasOwn(this.raw, field.key)) return undefined;
    const value = this.raw[field.key];
    return value === undefined ? undefined : adapt(value, field.type);
  }
  override keys(): Iterable<Value> {
    return Object.keys(this.raw);
  }
  override equals(other: MapValue): boolean {
    if (!(other instanceof JsonObject)) return super.equals(other);
    const keys = Object.keys(this.raw);
    return (
      keys.length === Object.keys(other.raw).length &&
      keys.every((key) => {
        if (!Object.hasOwn(other.raw, key)) return false;
        return equal(this.member(key), other.member(key));
      })
    );
  }
  /** The property with the JSON name, adapted to its declared type if it has one. */
  private member(key: string): Value {
    const name = escapeProperty(key);
    const field = name === undefined ? undefined : this.type.object?.field(name);
    return adapt(this.raw[key], field?.type ?? dyn);
  }
}
