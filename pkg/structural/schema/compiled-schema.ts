import { identity } from "#base";
import { formatCheck } from "../formats/formats.ts";
import type { JsonSchema, SchemaMap, ValidationRule } from "./json-schema.ts";
import { traits, traitsOf } from "./traits.ts";

type Junctor = "allOf" | "anyOf" | "oneOf" | "not";

const none: readonly CompiledSchema[] = [];

/**
 * A structural schema, ready for use. What is below a schema is compiled when a value first needs
 * it: of thousands of installed schemas most parts are never met.
 */
export class CompiledSchema {
  /** Types that values may have; none = any. */
  readonly types: readonly string[];
  /** Format of texts; "" where the schema names none that has a meaning. */
  readonly format: string;
  readonly isNullable: boolean;
  /** Unknown fields are kept. */
  readonly keepsUnknown: boolean;
  /** Also those of everything in it, whatever its schema says. */
  readonly keepsAll: boolean;
  /** Values are objects with apiVersion, kind and metadata of their own. */
  readonly isEmbedded: boolean;
  /** `x-kubernetes-list-type` of an array. */
  readonly listType: string;
  readonly listKeys: readonly string[];
  /** Fields are unknown but allowed, as `additionalProperties: true` has it. */
  readonly allowsAny: boolean;
  readonly hasTextRules: boolean;
  readonly hasNumberRules: boolean;
  readonly hasEnum: boolean;
  /** Other schemas must hold, or not. */
  readonly hasJunctors: boolean;
  private known: Map<string, CompiledSchema> | undefined;
  private item: CompiledSchema | undefined;
  private value: CompiledSchema | undefined;
  private alternatives: Partial<Record<Junctor, readonly CompiledSchema[]>> | undefined;
  private withDefaults: readonly (readonly [name: string, field: CompiledSchema])[] | undefined;
  private enum: ReadonlySet<unknown> | undefined;
  private traits: number | undefined;

  constructor(
    readonly source: JsonSchema,
    { keepsAll = false }: { readonly keepsAll?: boolean } = {},
  ) {
    const { type } = source;
    const isIntOrString = source["x-kubernetes-int-or-string"] === true;
    this.types = isIntOrString ? ["integer", "string"] : type ? [type] : [];
    this.format = source.format && formatCheck(source.format) ? source.format : "";
    this.isNullable = source.nullable === true;
    this.keepsAll = keepsAll;
    this.keepsUnknown = keepsAll || source["x-kubernetes-preserve-unknown-fields"] === true;
    this.isEmbedded = source["x-kubernetes-embedded-resource"] === true;
    this.listType = source["x-kubernetes-list-type"] ?? "";
    this.listKeys = source["x-kubernetes-list-map-keys"] ?? [];
    this.allowsAny = source.additionalProperties === true;
    this.hasTextRules = (source.pattern ?? source.maxLength ?? source.minLength) !== undefined;
    const { minimum, maximum, multipleOf, allOf, anyOf, oneOf, not } = source;
    this.hasNumberRules = (minimum ?? maximum ?? multipleOf) !== undefined;
    this.hasEnum = source.enum !== undefined;
    this.hasJunctors = (allOf ?? anyOf ?? oneOf ?? not) !== undefined;
  }

  /** Undefined for null: a default that says nothing. */
  get default(): unknown {
    return this.source.default ?? undefined;
  }

  /** Names of declared fields. */
  get names(): readonly string[] {
    return Object.keys(this.source.properties ?? {});
  }

  /** The declared field of that name. */
  property(name: string): CompiledSchema | undefined {
    const known = this.known?.get(name);
    if (known !== undefined) return known;
    const found = entry(this.source.properties, name);
    if (found === undefined) return undefined;
    const made = new CompiledSchema(found);
    this.known ??= new Map();
    this.known.set(name, made);
    return made;
  }

  /** Declared fields that have a default. */
  get defaulted(): readonly (readonly [name: string, field: CompiledSchema])[] {
    this.withDefaults ??= Object.entries(this.source.properties ?? {}).flatMap(([name, source]) => {
      const field = source.default === undefined ? undefined : this.property(name);
      return field?.default === undefined ? [] : [[name, field] as const];
    });
    return this.withDefaults;
  }

  /** Whether there is a default anywhere in it. */
  get hasDefaults(): boolean {
    return this.has(traits.default);
  }

  /** Whether it, or anything in it, is an embedded resource. */
  get hasEmbedded(): boolean {
    return this.has(traits.embedded);
  }

  /** Whether it, or anything in it, is a list whose items are told apart. */
  get hasListTypes(): boolean {
    return this.has(traits.listType);
  }

  /** Whether it, or anything in it, has rules in CEL. */
  get hasRules(): boolean {
    return this.has(traits.rules);
  }

  private has(trait: number): boolean {
    this.traits ??= traitsOf(this.source);
    return (this.traits & trait) !== 0;
  }

  /** Schema of the values of an object that has no declared fields. */
  get values(): CompiledSchema | undefined {
    const { additionalProperties } = this.source;
    if (typeof additionalProperties !== "object") return undefined;
    this.value ??= new CompiledSchema(additionalProperties);
    return this.value;
  }

  /** Schema of a field by its name, declared or not. */
  field(name: string): CompiledSchema | undefined {
    return this.property(name) ?? this.values;
  }

  get items(): CompiledSchema | undefined {
    const { items } = this.source;
    if (!items || Array.isArray(items)) return undefined;
    this.item ??= new CompiledSchema(items as JsonSchema);
    return this.item;
  }

  /** Rules in CEL for values of this schema. */
  get rules(): readonly ValidationRule[] {
    return this.source["x-kubernetes-validations"] ?? [];
  }

  /** Null is never one, though it may be listed. */
  isOneOfEnum(value: unknown): boolean {
    this.enum ??= new Set((this.source.enum ?? []).map(identity));
    return value !== null && this.enum.has(identity(value));
  }

  /** What must hold beside this. */
  junctor(name: Junctor): readonly CompiledSchema[] {
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
