/** Rules of definitions. Paths and values follow Kubernetes' internal form, see `hoisted`. */
import { deepEqual } from "#base";
import { Path, Problems } from "#schema";
import { type HookContext, isDns1035Label, isDns1123Subdomain } from "#meta";
import type { JsonSchema } from "#structural";
import { parseGoUrl } from "../go-url.ts";
import { entry, mustNotChange } from "../strategy.ts";
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
  somewhere,
  strict,
  type Tolerance,
  toleranceFor,
  unchangedParts,
} from "./tolerance.ts";

/** What versions say, either each or, where all say the same, once for all. */
type Parts = Pick<
  DefinitionVersion,
  "schema" | "subresources" | "additionalPrinterColumns" | "selectableFields"
>;

const partNames = [
  "schema",
  "subresources",
  "additionalPrinterColumns",
  "selectableFields",
] as const;

/**
 * Kubernetes moves what all versions have in common out of them before it validates, and its
 * problems say so in their paths.
 */
function hoisted(versions: readonly DefinitionVersion[]): {
  readonly common: Parts;
  readonly versions: readonly DefinitionVersion[];
} {
  const shared = partNames.filter((name) =>
    versions.every((version) => deepEqual(version[name], versions[0]?.[name])),
  );
  const pick = (version: DefinitionVersion | undefined, names: readonly string[]) =>
    Object.fromEntries(Object.entries(version ?? {}).filter(([name]) => names.includes(name)));
  const rest = versions.map((version) => {
    const kept = Object.keys(version).filter((name) => !shared.some((each) => each === name));
    return pick(version, kept) as unknown as DefinitionVersion;
  });
  return { common: pick(versions[0], shared) as Parts, versions: rest };
}

/** All versions with the field names of Go's struct, as Kubernetes prints them. */
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

const spec = Path.of("spec");

export function checkDefinition(
  definition: CustomResourceDefinition,
  problems: Problems,
  context: HookContext,
): void {
  const { metadata } = definition;
  const { names, group } = definition.spec;
  for (const field of ["generateName", "name"] as const) {
    const value = metadata[field];
    if (!value || value === `${names.plural}.${group}`) continue;
    const detail = 'must be spec.names.plural+"."+spec.group';
    problems.invalid(Path.of("metadata").child(field), value, detail);
  }
  checkSpec(definition.spec, strict, problems);
  checkStatus(definition, problems);
  checkStoredVersions(definition, problems);
  checkApproval(definition, { problems, context, before: undefined });
  checkPreserving(definition.spec, problems);
}

export function checkDefinitionUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  checkSpecUpdate(definition, old, problems);
  const { scope, names, group } = definition.spec;
  if (isEstablished(old)) {
    mustNotChange(problems, spec.child("scope"), { now: scope, before: old.spec.scope });
    const kinds = { now: names.kind, before: old.spec.names.kind };
    mustNotChange(problems, spec.child("names", "kind"), kinds);
  }
  mustNotChange(problems, spec.child("group"), { now: group, before: old.spec.group });
  const plurals = { now: names.plural, before: old.spec.names.plural };
  mustNotChange(problems, spec.child("names", "plural"), plurals);
  checkStatus(definition, problems);
  checkStoredVersions(definition, problems);
  const before = approval(old, context);
  checkApproval(definition, { problems, context, before });
  if (!old.spec.preserveUnknownFields) checkPreserving(definition.spec, problems);
}

export function checkStatus({ status }: CustomResourceDefinition, problems: Problems): void {
  checkNames(status.acceptedNames, Path.of("status.acceptedNames"), problems);
}

function checkPreserving(definition: DefinitionSpec, problems: Problems): void {
  if (!definition.preserveUnknownFields) return;
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in " +
    "spec.versions[*].schema instead";
  problems.invalid(spec.child("preserveUnknownFields"), true, detail);
}

function checkSpec(definition: DefinitionSpec, given: Tolerance, problems: Problems): void {
  checkGroup(definition.group, problems);
  checkEnumerated(definition.scope, spec.child("scope"), {
    supported: ["Cluster", "Namespaced"],
    problems,
  });
  const { common, versions } = hoisted(definition.versions ?? []);
  const tolerance = narrowed(given, definition);
  if (common.schema?.openAPIV3Schema === undefined) {
    const isLenient = given.missingSchemas;
    if (!isLenient || !definition.preserveUnknownFields) {
      checkHasSchemas(versions, { isLenient, problems });
    }
  }
  if (definition.preserveUnknownFields && hasSchemaWith(definition, hasOwnDefault)) {
    const detail = "must be false in order to use defaults in the schema";
    problems.invalid(spec.child("preserveUnknownFields"), true, detail);
  }
  for (const [index, version] of versions.entries()) {
    const place = spec.child("versions").index(index);
    checkLabel(version.name, place.child("name"), problems);
    checkDeprecation(version, place.child("deprecationWarning"), problems);
    const subresources = version.subresources ?? common.subresources;
    const hasStatus = subresources?.status !== undefined;
    const { name } = version;
    checkParts(version, { path: place, schema: "schema", name, hasStatus, tolerance, problems });
  }
  checkVersions(definition, versions, problems);
  checkRequiredNames(definition.names, problems);
  checkNames(definition.names, spec.child("names"), problems);
  const hasStatus = definition.versions?.some((each) => each.subresources?.status !== undefined);
  checkParts(common, {
    path: spec,
    schema: "validation",
    name: versions[0]?.name ?? "",
    hasStatus: hasStatus ?? false,
    tolerance,
    problems,
  });
  if (definition.preserveUnknownFields && (definition.conversion?.strategy ?? "None") !== "None") {
    const detail = "must be None if spec.preserveUnknownFields is true";
    problems.invalid(spec.child("conversion", "strategy"), definition.conversion?.strategy, detail);
  }
  checkConversion(definition.conversion, tolerance, problems);
}

/** Few updates have any fault, so that only then it is found out which of them are old. */
function checkSpecUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
  problems: Problems,
): void {
  problems.defer(function* (told) {
    const found = new Problems();
    checkSpec(definition.spec, unchangedParts(definition, old), found);
    yield* found.settle();
    if (!found.empty) checkSpec(definition.spec, toleranceFor(definition, old), told);
  });
}

/** Where unknown fields are pruned, or anything depends on it, schemas must be structural. */
function narrowed(given: Tolerance, definition: DefinitionSpec): Tolerance {
  if (!given.nonStructural) return given;
  const needsStructure = hasSchemaWith(definition, isDemanding);
  return { ...given, nonStructural: definition.preserveUnknownFields === true && !needsStructure };
}

function hasSchemaWith(
  { versions }: DefinitionSpec,
  holds: (schema: JsonSchema) => boolean,
): boolean {
  const schemas = (versions ?? []).flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
  return schemas.some((schema) => somewhere(schema, holds));
}

function hasOwnDefault(schema: JsonSchema): boolean {
  return schema.default !== undefined;
}

function isDemanding(schema: JsonSchema): boolean {
  return Object.keys(schema).some((name) => name === "default" || name.startsWith("x-kubernetes-"));
}

function checkHasSchemas(
  versions: readonly DefinitionVersion[],
  { isLenient, problems }: { readonly isLenient: boolean; readonly problems: Problems },
): void {
  for (const [index, { schema, served }] of versions.entries()) {
    if (schema?.openAPIV3Schema !== undefined || (isLenient && !served)) continue;
    const place = spec.child("versions").index(index).child("schema", "openAPIV3Schema");
    problems.required(place, isLenient ? "because otherwise all fields are pruned" : "");
  }
}

function checkGroup(group: string, problems: Problems): void {
  const path = spec.child("group");
  const messages = isDns1123Subdomain(group);
  if (group === "") problems.required(path);
  else if (messages.length > 0) problems.invalid(path, group, messages.join(","));
  else if (!group.includes(".")) {
    problems.invalid(path, group, "should be a domain with at least one dot");
  }
}

/** Every version is served beside all the others, so that the work grows by their square. */
const MOST_VERSIONS = 100;

function checkVersions(
  definition: DefinitionSpec,
  versions: readonly DefinitionVersion[],
  problems: Problems,
): void {
  const path = spec.child("versions");
  if (versions.length > MOST_VERSIONS) problems.tooMany(path, versions.length, MOST_VERSIONS);
  const names = versions.map(({ name }) => name);
  const shown = definition.versions === null ? null : goVersions(versions);
  if (new Set(names).size < names.length) {
    problems.invalid(path, shown, "must contain unique version names");
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    const detail = "must have exactly one version marked as storage version";
    problems.invalid(path, shown, detail);
  }
  // The internal form has the first version once more on its own.
  if (names[0]) checkLabel(names[0], spec.child("version"), problems);
}

const LONGEST_WARNING = 256;

function checkDeprecation(version: DefinitionVersion, path: Path, problems: Problems): void {
  const { deprecated, deprecationWarning: warning } = version;
  if (warning === undefined) return;
  if (!deprecated) problems.invalid(path, warning, "can only be set for deprecated versions");
  if (Buffer.byteLength(warning) > LONGEST_WARNING) {
    problems.invalid(path, warning, `must be <= ${LONGEST_WARNING} characters long`);
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

interface PartsPlace {
  readonly path: Path;
  /** What holds the schema there. */
  readonly schema: string;
  /** Name of the version. */
  readonly name: string;
  readonly hasStatus: boolean;
  readonly tolerance: Tolerance;
  readonly problems: Problems;
}

function checkParts(parts: Parts, place: PartsPlace): void {
  const { path, schema, name, tolerance, problems } = place;
  const openApi = parts.schema?.openAPIV3Schema;
  if (openApi !== undefined) {
    checkSchema(openApi, path.child(schema), { ...place, toleratesCosts: tolerance.costs(name) });
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
    const allowsMany = tolerance.selectableFields(name);
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

type Scale = NonNullable<NonNullable<Parts["subresources"]>["scale"]>;

function checkScale(scale: Scale, path: Path, problems: Problems): void {
  const check = (field: keyof Scale, roots: readonly string[], where: string) => {
    const value = scale[field];
    const place = path.child(field);
    if (!value) {
      if (field !== "labelSelectorPath") problems.required(place);
    } else if (isSimplePath(value, place, problems)) {
      if (roots.some((root) => value.startsWith(root))) return;
      problems.invalid(place, value, `should be a json path under ${where}`);
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

type Column = NonNullable<Parts["additionalPrinterColumns"]>[number];

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
    if (!names[field]) problems.required(spec.child("names", field));
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
    // A version counts once: a second one of the same name is reported.
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
  if (![api, label].some((own) => group === own || group.endsWith(`.${own}`))) return;
  const state = approval(definition, context);
  if (state === before || state === "approved" || state === "unapproved") return;
  const key = `api-approved.${label}`;
  const path = Path.of("metadata.annotations").key(key);
  const must = `protected groups must have approval annotation "${key}"`;
  const see = "see https://github.com/kubernetes/enhancements/pull/1111";
  if (state === "missing") problems.required(path, `${must}, ${see}`);
  else {
    const value = entry(definition.metadata.annotations, key);
    const detail = `${must} with either a URL or a reason starting with "unapproved", ${see}`;
    problems.invalid(path, value, detail);
  }
}
