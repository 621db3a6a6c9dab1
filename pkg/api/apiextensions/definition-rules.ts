/**
 * Validation of CustomResourceDefinitions. Paths and values follow Kubernetes' internal form, see
 * `hoisted`.
 */
import { Path, Problems } from "#schema";
import { type HookContext, isDns1035Label, isDns1123Subdomain, nameCheck } from "#meta";
import type { JsonSchema } from "#structural";
import { definitionVersion } from "./definition-structs.ts";
import { parseGoUrl } from "../go-url.ts";
import { entry, mustNotChange, isSameField } from "../strategy.ts";
import { checkConversion } from "./conversion-rules.ts";
import type {
  CustomResourceDefinition,
  DefinitionNames,
  DefinitionSpec,
  DefinitionVersion,
} from "./definition-structs.ts";
import { checkEnumerated, checkLabel } from "./name-rules.ts";
import { checkSchema } from "./schema-rules.ts";
import { checkSelectableFields } from "./selectable-fields.ts";
import {
  isEstablished,
  schemaHas,
  noRatcheting,
  type Ratcheting,
  fullRatcheting,
  ratchetingOfUnchangedParts,
} from "./ratcheting.ts";

/** Fields of versions that the internal form hoists into the spec if all versions agree. */
type HoistableFields = Pick<
  DefinitionVersion,
  "schema" | "subresources" | "additionalPrinterColumns" | "selectableFields"
>;

const hoistableFields = [
  "schema",
  "subresources",
  "additionalPrinterColumns",
  "selectableFields",
] as const;

/**
 * Splits versions into the fields that are equal in all of them, and the rest. Kubernetes validates
 * this internal form, so that a problem of a common field has the path of the spec.
 */
function hoisted(versions: readonly DefinitionVersion[]): {
  readonly common: HoistableFields;
  readonly versions: readonly DefinitionVersion[];
} {
  const shared = hoistableFields.filter((name) =>
    versions.every((each) => isSameField(definitionVersion, name, [each, versions[0]])),
  );
  const pick = (version: DefinitionVersion | undefined, names: readonly string[]) =>
    Object.fromEntries(Object.entries(version ?? {}).filter(([name]) => names.includes(name)));
  const rest = versions.map((version) => {
    const remaining = Object.keys(version).filter((name) => !shared.some((each) => each === name));
    return pick(version, remaining) as unknown as DefinitionVersion;
  });
  return { common: pick(versions[0], shared) as HoistableFields, versions: rest };
}

/** The versions with the field names of Go's struct, as Kubernetes prints them. */
function goVersions(versions: readonly DefinitionVersion[] | null): unknown {
  return (versions ?? undefined)?.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: version.schema ?? null,
    Subresources: version.subresources ?? null,
    AdditionalPrinterColumns: version.additionalPrinterColumns ?? null,
    SelectableFields: version.selectableFields ?? null,
  }));
}

const specPath = Path.of("spec");

export function checkDefinitionName(
  name: string,
  prefix: boolean,
  { spec: { names, group } }: CustomResourceDefinition,
): readonly string[] {
  const messages = nameCheck("dns-subdomain")(name, prefix);
  if (name === `${names.plural}.${group}`) return messages;
  return [...messages, 'must be spec.names.plural+"."+spec.group'];
}

export function checkDefinition(
  definition: CustomResourceDefinition,
  problems: Problems,
  context: HookContext,
): void {
  checkSpec(definition.spec, noRatcheting, problems);
  checkStatus(definition, problems);
  checkStoredVersions(definition, problems);
  checkApproval(definition, { problems, context, before: undefined });
  checkPreserveUnknownFields(definition.spec, problems);
}

export function checkDefinitionUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  checkSpecUpdate(definition, old, problems);
  const { scope, names, group } = definition.spec;
  if (isEstablished(old)) {
    mustNotChange(problems, specPath.child("scope"), { now: scope, before: old.spec.scope });
    const kinds = { now: names.kind, before: old.spec.names.kind };
    mustNotChange(problems, specPath.child("names", "kind"), kinds);
  }
  mustNotChange(problems, specPath.child("group"), { now: group, before: old.spec.group });
  const plurals = { now: names.plural, before: old.spec.names.plural };
  mustNotChange(problems, specPath.child("names", "plural"), plurals);
  checkStatus(definition, problems);
  checkStoredVersions(definition, problems);
  const before = approval(old, context);
  checkApproval(definition, { problems, context, before });
  if (!old.spec.preserveUnknownFields) checkPreserveUnknownFields(definition.spec, problems);
}

export function checkStatus({ status }: CustomResourceDefinition, problems: Problems): void {
  checkNames(status.acceptedNames, Path.of("status.acceptedNames"), problems);
}

function checkPreserveUnknownFields(definition: DefinitionSpec, problems: Problems): void {
  if (!definition.preserveUnknownFields) return;
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in " +
    "spec.versions[*].schema instead";
  problems.invalid(specPath.child("preserveUnknownFields"), true, detail);
}

function checkSpec(definition: DefinitionSpec, base: Ratcheting, problems: Problems): void {
  checkGroup(definition.group, problems);
  checkEnumerated(definition.scope, specPath.child("scope"), {
    supported: ["Cluster", "Namespaced"],
    problems,
  });
  const { common, versions } = hoisted(definition.versions ?? []);
  const ratcheting = structuralRatcheting(base, definition);
  if (common.schema?.openAPIV3Schema === undefined) {
    const isRatcheting = base.allowsMissingSchemas;
    if (!isRatcheting || !definition.preserveUnknownFields) {
      checkHasSchemas(versions, { isRatcheting, problems });
    }
  }
  if (definition.preserveUnknownFields && hasSchemaWith(definition, hasDefault)) {
    const detail = "must be false in order to use defaults in the schema";
    problems.invalid(specPath.child("preserveUnknownFields"), true, detail);
  }
  for (const [index, version] of versions.entries()) {
    const itemPath = specPath.child("versions").index(index);
    checkLabel(version.name, itemPath.child("name"), problems);
    checkDeprecation(version, itemPath.child("deprecationWarning"), problems);
    const subresources = version.subresources ?? common.subresources;
    const hasStatus = subresources?.status !== undefined;
    const { name } = version;
    checkHoistableFields(version, {
      path: itemPath,
      schema: "schema",
      name,
      hasStatus,
      ratcheting,
      problems,
    });
  }
  checkVersions(definition, versions, problems);
  checkRequiredNames(definition.names, problems);
  checkNames(definition.names, specPath.child("names"), problems);
  const hasStatus = definition.versions?.some((each) => each.subresources?.status !== undefined);
  checkHoistableFields(common, {
    path: specPath,
    schema: "validation",
    name: versions[0]?.name ?? "",
    hasStatus: hasStatus ?? false,
    ratcheting,
    problems,
  });
  if (definition.preserveUnknownFields && (definition.conversion?.strategy ?? "None") !== "None") {
    const detail = "must be None if spec.preserveUnknownFields is true";
    problems.invalid(
      specPath.child("conversion", "strategy"),
      definition.conversion?.strategy,
      detail,
    );
  }
  checkConversion(definition.conversion, ratcheting, problems);
}

/**
 * Validates the old schemas only if the new spec has a problem, as this is expensive and few
 * updates have one.
 */
function checkSpecUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
  problems: Problems,
): void {
  problems.defer(function* (reported) {
    const found = new Problems();
    checkSpec(definition.spec, ratchetingOfUnchangedParts(definition, old), found);
    yield* found.settle();
    if (!found.empty) checkSpec(definition.spec, fullRatcheting(definition, old), reported);
  });
}

/**
 * Structural schemas stay required if unknown fields are pruned or a schema uses defaults or
 * extensions.
 */
function structuralRatcheting(base: Ratcheting, definition: DefinitionSpec): Ratcheting {
  if (!base.allowsNonStructural) return base;
  const needsStructure = hasSchemaWith(definition, requiresStructural);
  return {
    ...base,
    allowsNonStructural: definition.preserveUnknownFields === true && !needsStructure,
  };
}

function hasSchemaWith(
  { versions }: DefinitionSpec,
  predicate: (schema: JsonSchema) => boolean,
): boolean {
  const schemas = (versions ?? []).flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
  return schemas.some((schema) => schemaHas(schema, predicate));
}

function hasDefault(schema: JsonSchema): boolean {
  return schema.default !== undefined;
}

function requiresStructural(schema: JsonSchema): boolean {
  return Object.keys(schema).some((name) => name === "default" || name.startsWith("x-kubernetes-"));
}

function checkHasSchemas(
  versions: readonly DefinitionVersion[],
  { isRatcheting, problems }: { readonly isRatcheting: boolean; readonly problems: Problems },
): void {
  for (const [index, { schema, served }] of versions.entries()) {
    if (schema?.openAPIV3Schema !== undefined || (isRatcheting && !served)) continue;
    const openAPIV3SchemaPath = specPath
      .child("versions")
      .index(index)
      .child("schema", "openAPIV3Schema");
    problems.required(
      openAPIV3SchemaPath,
      isRatcheting ? "because otherwise all fields are pruned" : "",
    );
  }
}

function checkGroup(group: string, problems: Problems): void {
  const path = specPath.child("group");
  const messages = isDns1123Subdomain(group);
  if (group === "") problems.required(path);
  else if (messages.length > 0) problems.invalid(path, group, messages.join(","));
  else if (!group.includes(".")) {
    problems.invalid(path, group, "should be a domain with at least one dot");
  }
}

/** Every version is converted to every other one, so that the work grows quadratically. */
const maxVersions = 100;

function checkVersions(
  definition: DefinitionSpec,
  versions: readonly DefinitionVersion[],
  problems: Problems,
): void {
  const path = specPath.child("versions");
  if (versions.length > maxVersions) problems.tooMany(path, versions.length, maxVersions);
  const names = versions.map(({ name }) => name);
  const goValue = definition.versions === null ? null : goVersions(versions);
  if (new Set(names).size < names.length) {
    problems.invalid(path, goValue, "must contain unique version names");
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    const detail = "must have exactly one version marked as storage version";
    problems.invalid(path, goValue, detail);
  }
  // The internal form repeats the name of the first version in `spec.version`.
  if (names[0]) checkLabel(names[0], specPath.child("version"), problems);
}

const maxWarningBytes = 256;

function checkDeprecation(version: DefinitionVersion, path: Path, problems: Problems): void {
  const { deprecated, deprecationWarning: warning } = version;
  if (warning === undefined) return;
  if (!deprecated) problems.invalid(path, warning, "can only be set for deprecated versions");
  if (Buffer.byteLength(warning) > maxWarningBytes) {
    problems.invalid(path, warning, `must be <= ${maxWarningBytes} characters long`);
  }
  if (warning === "") problems.invalid(path, warning, "must not be an empty string");
  const index = warning.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (index < 0) return;
  const bytes = Buffer.byteLength(warning.slice(0, index));
  const detail =
    "must only contain printable UTF-8 characters; " +
    `non-printable character found at index ${bytes}`;
  problems.invalid(path, warning, detail);
}

interface FieldsContext {
  readonly path: Path;
  /** Name of the field that contains the schema in the internal form. */
  readonly schema: string;
  /** Name of the version; that of the first version for hoisted fields. */
  readonly name: string;
  readonly hasStatus: boolean;
  readonly ratcheting: Ratcheting;
  readonly problems: Problems;
}

function checkHoistableFields(parts: HoistableFields, context: FieldsContext): void {
  const { path, schema, name, ratcheting, problems } = context;
  const openApi = parts.schema?.openAPIV3Schema;
  if (openApi !== undefined) {
    checkSchema(openApi, path.child(schema), {
      ...context,
      allowsCost: ratcheting.allowsCost(name),
    });
  }
  const { scale } = parts.subresources ?? {};
  if (scale !== undefined) checkScale(scale, path.child("subresources", "scale"), problems);
  for (const [index, column] of (parts.additionalPrinterColumns ?? []).entries()) {
    checkColumn(column, path.child("additionalPrinterColumns").index(index), problems);
  }
  const fields = parts.selectableFields ?? [];
  const fieldsPath = path.child("selectableFields");
  if (fields.length === 0) return;
  if (openApi !== undefined) {
    const allowsMany = ratcheting.allowsManySelectableFields(name);
    checkSelectableFields(fields, openApi, { path: fieldsPath, problems, allowsMany });
  } else {
    // The message for one version states the opposite of the rule, as in Kubernetes.
    const detail =
      schema === "schema"
        ? "`version.schema.openAPIV3Schema` is not included"
        : "validations.schema is included";
    problems.invalid(fieldsPath, "", `may only be set when ${detail}`);
  }
}

type Scale = NonNullable<NonNullable<HoistableFields["subresources"]>["scale"]>;

function checkScale(scale: Scale, path: Path, problems: Problems): void {
  const check = (field: keyof Scale, roots: readonly string[], where: string) => {
    const value = scale[field];
    const fieldPath = path.child(field);
    if (!value) {
      if (field !== "labelSelectorPath") problems.required(fieldPath);
    } else if (isSimplePath(value, fieldPath, problems)) {
      if (roots.some((root) => value.startsWith(root))) return;
      problems.invalid(fieldPath, value, `should be a json path under ${where}`);
    }
  };
  check("specReplicasPath", [".spec."], ".spec");
  check("statusReplicasPath", [".status."], ".status");
  check("labelSelectorPath", [".spec.", ".status."], "either .spec or .status");
}

function isSimplePath(text: string, path: Path, problems: Problems): boolean {
  if (text.startsWith(".")) return true;
  problems.invalid(path, text, "must be a simple json path starting with .");
  return false;
}

type Column = NonNullable<HoistableFields["additionalPrinterColumns"]>[number];

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

function checkColumn(column: Column, path: Path, problems: Problems): void {
  const { name, type, format = "", jsonPath } = column;
  if (name === "") problems.required(path.child("name"));
  const ofTypes = `must be one of ${columnTypes.join(",")}`;
  if (type === "") problems.required(path.child("type"), ofTypes);
  else if (!columnTypes.includes(type)) problems.invalid(path.child("type"), type, ofTypes);
  if (format !== "" && !columnFormats.includes(format)) {
    problems.invalid(path.child("format"), format, `must be one of ${columnFormats.join(",")}`);
  }
  if (jsonPath === "") problems.required(path.child("JSONPath"));
  else isSimplePath(jsonPath, path.child("JSONPath"), problems);
}

function checkRequiredNames(names: DefinitionNames, problems: Problems): void {
  for (const field of ["plural", "singular", "kind", "listKind"] as const) {
    if (!names[field]) problems.required(specPath.child("names", field));
  }
}

function checkNames(names: DefinitionNames, path: Path, problems: Problems): void {
  const { plural, singular = "", kind, listKind = "" } = names;
  if (plural !== "") checkLabel(plural, path.child("plural"), problems);
  if (singular !== "") checkLabel(singular, path.child("singular"), problems);
  for (const [field, value] of Object.entries({ kind, listKind })) {
    const messages = value === "" ? [] : isDns1035Label(value.toLowerCase());
    if (messages.length === 0) continue;
    const detail = `may have mixed case, but should otherwise match: ${messages.join(",")}`;
    problems.invalid(path.child(field), value, detail);
  }
  for (const [index, name] of (names.shortNames ?? []).entries()) {
    checkLabel(name, path.child("shortNames").index(index), problems);
  }
  if (kind !== "" && kind === listKind) {
    const detail = "kind and listKind may not be the same";
    problems.invalid(path.child("listKind"), listKind, detail);
  }
  for (const [index, name] of (names.categories ?? []).entries()) {
    checkLabel(name, path.child("categories").index(index), problems);
  }
}

function checkStoredVersions(definition: CustomResourceDefinition, problems: Problems): void {
  const path = Path.of("status.storedVersions");
  const stored = definition.status.storedVersions ?? [];
  if (stored.length === 0) {
    problems.invalid(path, null, "must have at least one stored version");
    return;
  }
  const versions = definition.spec.versions ?? [];
  const known = new Set(versions.map(({ name }) => name));
  const before = new Set(stored);
  for (const { name, storage } of versions) {
    // Kubernetes drops a stored version at its first occurrence, so that a duplicate is reported.
    if (before.delete(name) || !storage) continue;
    problems.invalid(path, stored, `must have the storage version ${name}`);
  }
  for (const [index, version] of stored.entries()) {
    if (known.has(version)) continue;
    const detail =
      `missing from spec.versions; ${version} was previously a storage version, and must remain ` +
      "in spec.versions until a storage migration ensures no data remains persisted in " +
      `${version} and removes ${version} from status.storedVersions`;
    problems.invalid(path.index(index), version, detail);
  }
}

type Approval = "approved" | "unapproved" | "invalid" | "missing";

function approval({ metadata }: CustomResourceDefinition, { domain }: HookContext): Approval {
  const value = entry(metadata.annotations, `api-approved.${domain.label}`);
  if (value === undefined || value === "") return "missing";
  if (value.startsWith("unapproved")) return "unapproved";
  const url = parseGoUrl(value);
  return !("fault" in url) && url.scheme !== "" && url.host !== "" ? "approved" : "invalid";
}

/** Protected groups (`k8s.io`, `kubernetes.io`) require the annotation `api-approved`. */
function checkApproval(
  definition: CustomResourceDefinition,
  {
    problems,
    context,
    before,
  }: {
    readonly problems: Problems;
    readonly context: HookContext;
    readonly before: Approval | undefined;
  },
): void {
  const { api, label } = context.domain;
  const { group } = definition.spec;
  const isProtected = [api, label].some(
    (domain) => group === domain || group.endsWith(`.${domain}`),
  );
  if (!isProtected) return;
  const state = approval(definition, context);
  if (state === before || state === "approved" || state === "unapproved") return;
  const key = `api-approved.${label}`;
  const path = Path.of("metadata.annotations").key(key);
  const must = `protected groups must have approval annotation "${key}"`;
  const reference = "see https://github.com/kubernetes/enhancements/pull/1111";
  if (state === "missing") problems.required(path, `${must}, ${reference}`);
  else {
    const value = entry(definition.metadata.annotations, key);
    const detail = `${must} with either a URL or a reason starting with "unapproved", ${reference}`;
    problems.invalid(path, value, detail);
  }
}
