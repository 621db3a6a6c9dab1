import { isJsonObject, type JsonObject } from "../text/json-object.ts";

/** JSON of another type than that of its Go field; the message is that of encoding/json. */
export class JsonTypeFault extends Error {
  override readonly name = "JsonTypeFault";
}

interface TypedFieldsOptions {
  /** Whether names match in any case, as in encoding/json; Kubernetes' own decoders match exactly. */
  readonly ignoresCase?: boolean;
}

/**
 * Fields of an answer from another server, each of which must have its type: a value of another type is a
 * fault, never an absent field. Absent and null fields have the zero value, and unknown ones are ignored, as
 * in Go's decoder.
 */
export class TypedFields {
  private constructor(
    private readonly values: JsonObject,
    private readonly path: string,
    private readonly options: TypedFieldsOptions,
  ) {}

  /** The fields of an object; none for null. @throws JsonTypeFault for another value */
  static of(value: unknown, type: string, options: TypedFieldsOptions = {}): TypedFields {
    if (isJsonObject(value ?? {})) {
      return new TypedFields((value ?? {}) as JsonObject, type, options);
    }
    throw new JsonTypeFault(
      `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${type}`,
    );
  }

  /** The elements of an array of objects; none for null. @throws JsonTypeFault for another value */
  static listOf(
    value: unknown,
    type: string,
    options: TypedFieldsOptions = {},
  ): readonly TypedFields[] {
    if (Array.isArray(value ?? [])) {
      return ((value ?? []) as unknown[]).map((each) => TypedFields.of(each, type, options));
    }
    throw new JsonTypeFault(
      `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type []${type}`,
    );
  }

  boolean(key: string): boolean {
    const value = this.valueOf(key) ?? false;
    if (typeof value !== "boolean") throw this.wrong(key, value, "bool");
    return value;
  }

  text(key: string): string {
    const value = this.valueOf(key) ?? "";
    if (typeof value !== "string") throw this.wrong(key, value, "string");
    return value;
  }

  /** The text of a string or number. */
  scalar(key: string): string {
    const value = this.valueOf(key) ?? "";
    if (typeof value === "number") return String(value);
    return this.text(key);
  }

  integer(key: string): number {
    const value = this.valueOf(key) ?? 0;
    if (typeof value !== "number" || !Number.isSafeInteger(value)) {
      throw this.wrong(key, value, "int64");
    }
    return value;
  }

  texts(key: string): readonly string[] {
    return this.list(key, "[]string").map((each) => {
      if (typeof each !== "string" && each !== null) throw this.wrong(key, each, "string");
      return each ?? "";
    });
  }

  /** A map of strings. */
  textMap(key: string): ReadonlyMap<string, string> {
    const fields = this.object(key);
    return new Map(fields.keys().map((name) => [name, fields.exactText(name)]));
  }

  object(key: string): TypedFields {
    const value = this.valueOf(key) ?? {};
    if (!isJsonObject(value)) throw this.wrong(key, value, "object");
    return new TypedFields(value, `${this.path}.${key}`, this.options);
  }

  objects(key: string): readonly TypedFields[] {
    return this.list(key, "[]object").map((each) => {
      if (!isJsonObject(each ?? {})) throw this.wrong(key, each, "object");
      return new TypedFields((each ?? {}) as JsonObject, `${this.path}.${key}`, this.options);
    });
  }

  list(key: string, type = "[]interface {}"): readonly unknown[] {
    const value = this.valueOf(key) ?? [];
    if (!Array.isArray(value)) throw this.wrong(key, value, type);
    return value;
  }

  /** Whether the field is present and not null. */
  has(key: string): boolean {
    return (this.valueOf(key) ?? undefined) !== undefined;
  }

  keys(): readonly string[] {
    return Object.keys(this.values);
  }

  private exactText(key: string): string {
    return new TypedFields(this.values, this.path, {}).text(key);
  }

  private valueOf(key: string): unknown {
    if (Object.hasOwn(this.values, key)) return this.values[key];
    if (this.options.ignoresCase !== true) return undefined;
    const name = this.keys().find((each) => each.toLowerCase() === key.toLowerCase());
    return name === undefined ? undefined : this.values[name];
  }

  private wrong(key: string, value: unknown, type: string): JsonTypeFault {
    const field = `Go struct field ${this.path}.${key} of type ${type}`;
    return new JsonTypeFault(`json: cannot unmarshal ${jsonTypeOf(value)} into ${field}`);
  }
}

function jsonTypeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
