/**
 * Ratcheting of CustomResourceDefinition updates: an update skips the validations that the stored
 * definition already violates, so that older objects stay updatable.
 */
import { X509Certificate } from "node:crypto";
import { deepEqual } from "#base";
import { Path, Problems } from "#schema";
import { checkDefaults, CompiledSchema, type JsonSchema } from "#structural";
import { pemBlocks } from "../certificates/pem.ts";
import type {
  CustomResourceDefinition,
  DefinitionSpec,
  DefinitionVersion,
} from "./definition-structs.ts";
import { checkListItems } from "./list-rules.ts";
import { checkStructural } from "./structural-rules.ts";

/** Validations to skip. On creation none is skipped, except that of the CA bundle. */
export interface Ratcheting {
  /** Skips the check that types are JSON types. */
  readonly allowsInvalidTypes: boolean;
  /** Skips the requirement that every version has a schema. */
  readonly allowsMissingSchemas: boolean;
  /** Skips the check that schemas are structural; never skipped while unknown fields are pruned. */
  readonly allowsNonStructural: boolean;
  /** Skips the check that defaults contain only specified fields. */
  readonly allowsUnprunedDefaults: boolean;
  /** Skips the checks of the items of lists of type set and map. */
  readonly allowsInvalidListItems: boolean;
  /** Skips the check that the webhook accepts a supported version of ConversionReview. */
  readonly allowsUnsupportedReviews: boolean;
  /** Skips the check that the CA bundle of the conversion webhook consists of PEM certificates. */
  readonly allowsInvalidCABundle: boolean;
  /** Whether to skip the CEL cost limits of a version, because its schema is unchanged. */
  readonly allowsCost: (version: string) => boolean;
  /** Whether to skip the limit on selectable fields of a version, because they are unchanged. */
  readonly allowsManySelectableFields: (version: string) => boolean;
}

const disallow = (): boolean => false;

export const noRatcheting: Ratcheting = {
  allowsInvalidTypes: false,
  allowsMissingSchemas: false,
  allowsNonStructural: false,
  allowsUnprunedDefaults: false,
  allowsInvalidListItems: false,
  allowsUnsupportedReviews: false,
  allowsInvalidCABundle: true,
  allowsCost: disallow,
  allowsManySelectableFields: disallow,
};

export const jsonTypes = ["array", "boolean", "integer", "number", "object", "string"];

/** Whether the type is a JSON type or absent. */
export function isJsonType(type: string | undefined): boolean {
  return !type || jsonTypes.includes(type);
}

const supportedReviewVersions = ["v1", "v1beta1"];

/** Whether the list is empty or contains a supported version of ConversionReview. */
export function includesSupportedReviewVersion(versions: readonly string[]): boolean {
  return (
    versions.length === 0 || versions.some((version) => supportedReviewVersions.includes(version))
  );
}

/**
 * Ratcheting that follows from a comparison of both definitions, without validating the old one.
 */
export function ratchetingOfUnchangedParts(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): Ratcheting {
  const oldVersions = new Map((old.spec.versions ?? []).map((version) => [version.name, version]));
  const newVersions = new Map((definition.spec.versions ?? []).map((each) => [each.name, each]));
  const isSame = (name: string, part: (version: DefinitionVersion | undefined) => unknown) =>
    oldVersions.has(name) && deepEqual(part(oldVersions.get(name)), part(newVersions.get(name)));
  const { clientConfig } = old.spec.conversion?.webhook ?? {};
  return {
    ...noRatcheting,
    allowsInvalidCABundle: !isEstablished(old) || !isCABundle(clientConfig?.caBundle ?? ""),
    allowsCost: (name) => isSame(name, (version) => version?.schema),
    allowsManySelectableFields: (name) => isSame(name, (version) => version?.selectableFields),
  };
}

/** Complete ratcheting: also validates the schemas of the old definition. */
export function fullRatcheting(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): Ratcheting {
  const schemas = schemasOf(old.spec);
  const has = (predicate: (schema: JsonSchema) => boolean) =>
    schemas.some((schema) => schemaHas(schema, predicate));
  return {
    ...ratchetingOfUnchangedParts(definition, old),
    allowsInvalidTypes: has(({ type }) => !isJsonType(type)),
    allowsMissingSchemas: schemas.length < (old.spec.versions ?? []).length,
    allowsNonStructural: schemas.some((schema) =>
      findsProblems((found) => checkStructural(schema, Path.root, found)),
    ),
    allowsUnprunedDefaults: schemas.some(hasUnprunedDefaults),
    allowsInvalidListItems: has((schema) =>
      findsProblems((found) => checkListItems(schema, Path.root, found)),
    ),
    allowsUnsupportedReviews: !includesSupportedReviewVersion(
      old.spec.conversion?.webhook?.conversionReviewVersions ?? [],
    ),
  };
}

export function isEstablished({ status }: CustomResourceDefinition): boolean {
  return (status.conditions ?? []).some(
    ({ type, status: conditionStatus }) => type === "Established" && conditionStatus === "True",
  );
}

/**
 * Whether the base64 text contains only valid PEM certificates, at least one; true if it is empty.
 */
export function isCABundle(base64: string): boolean {
  const text = Buffer.from(base64, "base64").toString("latin1");
  if (text === "") return true;
  const blocks = pemBlocks(text).filter(({ type }) => type === "CERTIFICATE");
  try {
    for (const block of blocks) void new X509Certificate(block.text);
    return blocks.length > 0;
  } catch {
    // Node's messages of invalid certificates differ from Go's.
    return false;
  }
}

function schemasOf({ versions }: DefinitionSpec): readonly JsonSchema[] {
  return (versions ?? []).flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
}

function findsProblems(check: (found: Problems) => void): boolean {
  const found = new Problems();
  check(found);
  return !found.empty;
}

function hasUnprunedDefaults(source: JsonSchema): boolean {
  const count = (allowsUnknown: boolean) => {
    const problems = new Problems();
    checkDefaults(new CompiledSchema(source), Path.root, { problems, allowsUnknown });
    return problems.list.length;
  };
  return count(false) > count(true);
}

/** Whether the predicate holds for the schema or any of its subschemas. */
export function schemaHas(schema: JsonSchema, predicate: (each: JsonSchema) => boolean): boolean {
  if (predicate(schema)) return true;
  const { items, additionalProperties, not, allOf, anyOf, oneOf, properties } = schema;
  const below = [items, additionalProperties, not, allOf, anyOf, oneOf].flat();
  for (const each of [...below, ...Object.values(properties ?? {})]) {
    if (typeof each === "object" && each !== null && schemaHas(each as JsonSchema, predicate)) {
      return true;
    }
  }
  return false;
}
