/** What an old definition has wrong may stay wrong. */
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

/** Each is whether something that new definitions are refused for is let pass. */
export interface Tolerance {
  /** Types that are no types of JSON. */
  readonly types: boolean;
  /** Versions without a schema. */
  readonly missingSchemas: boolean;
  /** Schemas that are not structural, where unknown fields are preserved anyway. */
  readonly nonStructural: boolean;
  /** Defaults with fields that are pruned. */
  readonly unprunedDefaults: boolean;
  /** Lists of type set or map whose items are not atomic or lack keys. */
  readonly listItems: boolean;
  /** Conversion webhooks without a supported review version. */
  readonly reviewVersions: boolean;
  /** Certificates that are none. */
  readonly certificates: boolean;
  /** Versions whose rules may cost too much, since their schemas did not change. */
  readonly costs: (version: string) => boolean;
  /** Versions that may have too many selectable fields, since those did not change. */
  readonly selectableFields: (version: string) => boolean;
}

const never = (): boolean => false;

export const strict: Tolerance = {
  types: false,
  missingSchemas: false,
  nonStructural: false,
  unprunedDefaults: false,
  listItems: false,
  reviewVersions: false,
  certificates: true,
  costs: never,
  selectableFields: never,
};

export const jsonTypes = ["array", "boolean", "integer", "number", "object", "string"];

/** Whether the type is a JSON type or absent. */
export function isJsonType(type: string | undefined): boolean {
  return !type || jsonTypes.includes(type);
}

const reviewed = ["v1", "v1beta1"];

/** Whether a review version is supported, or none is listed. */
export function knowsReviews(versions: readonly string[]): boolean {
  return versions.length === 0 || versions.some((version) => reviewed.includes(version));
}

/** What an update is let pass for parts that it leaves as they are. Cheap. */
export function unchangedParts(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): Tolerance {
  const before = new Map((old.spec.versions ?? []).map((version) => [version.name, version]));
  const after = new Map((definition.spec.versions ?? []).map((each) => [each.name, each]));
  const isSame = (name: string, part: (version: DefinitionVersion | undefined) => unknown) =>
    before.has(name) && deepEqual(part(before.get(name)), part(after.get(name)));
  const { clientConfig } = old.spec.conversion?.webhook ?? {};
  return {
    ...strict,
    certificates: !isEstablished(old) || !isBundle(clientConfig?.caBundle ?? ""),
    costs: (name) => isSame(name, (version) => version?.schema),
    selectableFields: (name) => isSame(name, (version) => version?.selectableFields),
  };
}

/** All that is wrong with the old definition. Looks through its schemas. */
export function toleranceFor(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): Tolerance {
  const schemas = schemasOf(old.spec);
  const has = (holds: (schema: JsonSchema) => boolean) =>
    schemas.some((schema) => somewhere(schema, holds));
  return {
    ...unchangedParts(definition, old),
    types: has(({ type }) => !isJsonType(type)),
    missingSchemas: schemas.length < (old.spec.versions ?? []).length,
    nonStructural: schemas.some((schema) => finds((found) => structural(schema, found))),
    unprunedDefaults: schemas.some(hasUnprunedDefaults),
    listItems: has((schema) => finds((found) => checkListItems(schema, Path.root, found))),
    reviewVersions: !knowsReviews(old.spec.conversion?.webhook?.conversionReviewVersions ?? []),
  };
}

export function isEstablished({ status }: CustomResourceDefinition): boolean {
  return (status.conditions ?? []).some(
    ({ type, status: state }) => type === "Established" && state === "True",
  );
}

/** Whether base64 holds at least one certificate in PEM, and only such; none at all will do. */
export function isBundle(base64: string): boolean {
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

function structural(schema: JsonSchema, found: Problems): void {
  checkStructural(schema, Path.root, found);
}

function finds(check: (found: Problems) => void): boolean {
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

/** Whether something holds of a schema or of anything in it. */
export function somewhere(schema: JsonSchema, holds: (each: JsonSchema) => boolean): boolean {
  if (holds(schema)) return true;
  const { items, additionalProperties, not, allOf, anyOf, oneOf, properties } = schema;
  const below = [items, additionalProperties, not, allOf, anyOf, oneOf].flat();
  for (const each of [...below, ...Object.values(properties ?? {})]) {
    if (typeof each === "object" && each !== null && somewhere(each as JsonSchema, holds)) {
      return true;
    }
  }
  return false;
}
