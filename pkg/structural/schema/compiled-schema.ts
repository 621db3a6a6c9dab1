import { identity } from "#base";
import { formatCheck } from "../formats/formats.ts";
import type { JsonSchema, SchemaMap, ValidationRule } from "./json-schema.ts";
import { traits, traitsOf } from "./traits.ts";

type LogicalKeyword = "allOf" | "anyOf" | "oneOf" | "not";

const none: readonly CompiledSchema[] = [];

/**
 * A structural schema. Subschemas are compiled on first use, as most parts of thousands of installed
 * schemas are never used.
 */
export class CompiledSchema {
  /** Allowed types; empty = any. */
  readonly types: readonly string[];
  /** Format of strings; "" if there is none or it is not supported. */
  readonly format: string;
  readonly isNullable: boolean;
  /** `x-kubernetes-preserve-unknown-fields`. */
  readonly preservesUnknown: boolean;
  /** Preserves unknown fields at every depth, as `spec.preserveUnknownFields` does. */
  readonly preservesAll: boolean;
  /** `x-kubernetes-embedded-resource`: values have apiVersion, kind and metadata. */
  readonly isEmbedded: boolean;
  /** `x-kubernetes-list-type` of an array. */
  readonly listType: string;
  readonly listKeys: readonly string[];
  /** `additionalProperties: true`. */
  readonly allowsAnyValue: boolean;
  readonly hasTextRules: boolean;
  readonly hasNumberRules: boolean;
  readonly hasEnum: boolean;
  /** Whether it has `allOf`, `anyOf`, `oneOf` or `not`. */
  readonly hasLogicalKeywords: boolean;
  private properties: Map<string, CompiledSchema> | undefined;
  private item: CompiledSchema | undefined;
  private value: CompiledSchema | undefined;
  private alternatives: Partial<Record<LogicalKeyword, readonly CompiledSchema[]>> | undefined;
  private withDefaults: readonly (readonly [name: string, field: CompiledSchema])[] | undefined;
  private enum: ReadonlySet<unknown> | undefined;
  private traits: number | undefined;

  constructor(
    readonly source: JsonSchema,
    { preservesAll = false }: { readonly preservesAll?: boolean } = {},
  ) {
    const { type } = source;
    const isIntOrString = source["x-kubernetes-int-or-string"] === true;
    this.types = isIntOrString ? ["integer", "string"] : type ? [type] : [];
    this.format = source.format && formatCheck(source.format) ? source.format : "";
    this.isNullable = source.nullable === true;
    this.preservesAll = preservesAll;
    this.preservesUnknown = preservesAll || source["x-kubernetes-preserve-unknown-fields"] === true;
    this.isEmbedded = source["x-kubernetes-embedded-resource"] === true;
    this.listType = source["x-kubernetes-list-type"] ?? "";
    this.listKeys = source["x-kubernetes-list-map-keys"] ?? [];
    this.allowsAnyValue = source.additionalProperties === true;
    this.hasTextRules = (source.pattern ?? source.maxLength ?? source.minLength) !== undefined;
    const { minimum, maximum, multipleOf, allOf, anyOf, oneOf, not } = source;
    this.hasNumberRules = (minimum ?? maximum ?? multipleOf) !== undefined;
    this.hasEnum = source.enum !== undefined;
    this.hasLogicalKeywords = (allOf ?? anyOf ?? oneOf ?? not) !== undefined;
  }

  /** The default; undefined for null, which has no effect. */
  get default(): unknown {
    return this.source.default ?? undefined;
  }

  /** Names in `properties`. */
  get propertyNames(): readonly string[] {
    return Object.keys(this.source.properties ?? {});
  }

  /** The schema of the name in `properties`. */
  property(name: string): CompiledSchema | undefined {
    const known = this.properties?.get(name);
    if (known !== undefined) return known;
    const source = entry(this.source.properties, name);
    if (source === undefined) return undefined;
    const compiled = new CompiledSchema(source);
    this.properties ??= new Map();
    this.properties.set(name, compiled);
    return compiled;
  }

  /** Whether values may have members with a schema: `properties`, or `additionalProperties` with one. */
  get hasMemberSchemas(): boolean {
    const { properties, additionalProperties } = this.source;
    if (typeof additionalProperties === "object") return true;
    for (const _name in properties) return true;
    return false;
  }

  /** The `properties` that have a default. */
  get defaultedProperties(): readonly (readonly [name: string, field: CompiledSchema])[] {
    this.withDefaults ??= Object.entries(this.source.properties ?? {}).flatMap(([name, source]) => {
      const field = source.default === undefined ? undefined : this.property(name);
      return field?.default === undefined ? [] : [[name, field] as const];
    });
    return this.withDefaults;
  }

  /** Whether it or a subschema has a default. */
  get hasDefaults(): boolean {
    return this.has(traits.default);
  }

  /** Whether it or a subschema is an embedded resource. */
  get hasEmbedded(): boolean {
    return this.has(traits.embedded);
  }

  /** Whether it or a subschema is a list of type set or map. */
  get hasListTypes(): boolean {
    return this.has(traits.listType);
  }

  /** Whether it or a subschema has CEL rules. */
  get hasRules(): boolean {
    return this.has(traits.rules);
  }

  private has(trait: number): boolean {
    this.traits ??= traitsOf(this.source);
    return (this.traits & trait) !== 0;
  }

  /** The schema in `additionalProperties`. */
  get values(): CompiledSchema | undefined {
    const { additionalProperties } = this.source;
    if (typeof additionalProperties !== "object") return undefined;
    this.value ??= new CompiledSchema(additionalProperties);
    return this.value;
  }

  /** Schema of a field, in `properties` or `additionalProperties`. */
  field(name: string): CompiledSchema | undefined {
    return this.property(name) ?? this.values;
  }

  /** The schema in `items`. */
  get items(): CompiledSchema | undefined {
    const { items } = this.source;
    if (!items || Array.isArray(items)) return undefined;
    this.item ??= new CompiledSchema(items as JsonSchema);
    return this.item;
  }

  /** CEL rules of this schema, without those of subschemas. */
  get rules(): readonly ValidationRule[] {
    return this.source["x-kubernetes-validations"] ?? [];
  }

  /** Whether the enum contains the value; never for null, even if it is listed. */
  isOneOfEnum(value: unknown): boolean {
    this.enum ??= new Set((this.source.enum ?? []).map(identity));
    return value !== null && this.enum.has(identity(value));
  }

  /** The subschemas of a logical keyword. */
  subschemas(name: LogicalKeyword): readonly CompiledSchema[] {
    const source = this.source[name];
    if (source === undefined) return none;
    this.alternatives ??= {};
    return (this.alternatives[name] ??= [source].flat().map((each) => new CompiledSchema(each)));
  }
}

/** Own property or undefined; safe for names such as `constructor`. */
export function entry(map: SchemaMap | undefined, name: string): JsonSchema | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;
}
