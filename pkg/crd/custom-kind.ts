import { createHash } from "node:crypto";
import type { CustomResourceDefinition, DefinitionVersion } from "#api";
import { compareUtf8, deepEqual } from "#base";
import {
  compareVersions,
  type CustomKind,
  type Domain,
  goQuote,
  type HookContext,
  kind,
  type Kind,
  type KindHooks,
  type KindVersion,
  type ObjectConversion,
  type Resource,
  resourceOf,
  type Subresource,
  type Verb,
} from "#meta";
import type { Problems } from "#schema";
import { checkObject, JsonPath } from "#structural";
import { tableOf } from "./columns.ts";
import { checkScaleFields, scaleSubresource } from "./scale.ts";
import { type VersionSchema, versionSchema } from "./version-schema.ts";

export interface CompileOptions {
  readonly domain: Domain;
  /** Whether the definition is terminating or deleted at the time of the call. */
  readonly isTerminating: () => boolean;
  /** Conversion webhook; undefined for strategy None. */
  readonly conversion: ObjectConversion | undefined;
}

/** In the order of Kubernetes' discovery. */
const verbs: readonly Verb[] = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];

/** Compiles a definition into one resource per served version. */
export function customResources(
  definition: CustomResourceDefinition,
  compiling: CompileOptions,
): readonly Resource[] {
  const { spec, status, metadata } = definition;
  const { acceptedNames } = status;
  const versions = spec.versions ?? [];
  const preservesUnknown = spec.preserveUnknownFields === true;
  const own = { group: spec.group, kind: acceptedNames.kind, preservesUnknown };
  const schemas = versions.map((version) => versionSchema(version, own));
  const { uid, generation } = metadata;
  const identity = JSON.stringify([uid, String(generation), acceptedNames]);
  const custom: CustomKind = {
    get terminating() {
      return compiling.isTerminating();
    },
    storageVersion: versions.find(({ storage }) => storage)?.name ?? "",
    fingerprint: createHash("sha256").update(identity).digest("base64"),
    ...(compiling.conversion === undefined ? {} : { conversion: compiling.conversion }),
  };
  return versions
    .map((version, index) => ({ version, schema: schemas[index] as VersionSchema }))
    .filter(({ version }) => version.served)
    .map(({ version, schema }) => {
      const others = schemas.filter((each) => each !== schema);
      const served = servedVersion(definition, version, schema);
      const compiled = kindOf(definition, version, { schema, others, served, custom });
      return resourceOf(compiled, served, compiling.domain);
    });
}

function servedVersion(
  { spec }: CustomResourceDefinition,
  version: DefinitionVersion,
  { struct }: VersionSchema,
): KindVersion {
  const served: KindVersion = {
    version: version.name,
    struct,
    onByDefault: true,
    convert: "hub",
  };
  if (!version.deprecated) return served;
  const deprecationWarning =
    version.deprecationWarning ?? defaultDeprecationWarning(spec, version.name);
  return { ...served, deprecationWarning };
}

function defaultDeprecationWarning(
  spec: CustomResourceDefinition["spec"],
  version: string,
): string {
  const { group, names } = spec;
  const [better] = (spec.versions ?? [])
    .filter((each) => each.served && !each.deprecated)
    .map(({ name }) => name)
    .filter((name) => compareVersions(name, version) < 0)
    .sort(compareVersions);
  const text = `${group}/${version} ${names.kind} is deprecated`;
  return better === undefined ? text : `${text}; use ${group}/${better} ${names.kind}`;
}

interface VersionParts {
  readonly schema: VersionSchema;
  readonly others: readonly VersionSchema[];
  readonly served: KindVersion;
  readonly custom: CustomKind;
}

function kindOf(
  { spec, status }: CustomResourceDefinition,
  version: DefinitionVersion,
  { schema, others, served, custom }: VersionParts,
): Kind {
  const { plural, singular, shortNames, categories, listKind, ...names } = status.acceptedNames;
  return kind(schema.struct, {
    group: spec.group,
    kind: names.kind,
    plural,
    ...(singular ? { singular } : {}),
    ...(listKind ? { listKind } : {}),
    shortNames: shortNames ?? [],
    categories: categories ?? [],
    scope: spec.scope === "Cluster" ? "Cluster" : "Namespaced",
    storagePrefix: `${spec.group}/${plural}`,
    verbs,
    versions: [served, ...others.map((other) => otherVersion(other, schema))],
    subresources: subresourcesOf(version),
    rules: {
      generation: true,
      unconditionalUpdate: false,
    },
    hooks: hooksOf(version, schema, `${spec.group}/${version.name}`),
    ...tableOf(version, { apiVersion: `${spec.group}/${version.name}`, kind: names.kind }),
    selectableFields: selectableFieldsOf(version),
    custom,
  });
}

/** Without a webhook, conversion prunes the fields that the target version does not specify. */
function otherVersion(other: VersionSchema, own: VersionSchema): KindVersion {
  return {
    version: other.name,
    struct: other.struct,
    onByDefault: true,
    convert: { up: own.prunedCopy, down: other.prunedCopy },
  };
}

const statusSubresource: Subresource = { name: "status", verbs: ["get", "patch", "update"] };

function subresourcesOf({ subresources }: DefinitionVersion): readonly Subresource[] {
  const { status, scale } = subresources ?? {};
  return [
    ...(status === undefined ? [] : [statusSubresource]),
    ...(scale === undefined ? [] : [scaleSubresource(scale)]),
  ];
}

function selectableFieldsOf({
  selectableFields,
}: DefinitionVersion): Readonly<Record<string, (object: any) => string>> {
  const entries = (selectableFields ?? []).map(({ jsonPath }) => {
    const path = JsonPath.parse(jsonPath);
    const read = (object: unknown): string => {
      const [value] = path?.find(object) ?? [];
      return value === undefined || value === null ? "" : String(value);
    };
    return [jsonPath.replace(/^\./, ""), read] as const;
  });
  return Object.fromEntries(entries);
}

function hooksOf(version: DefinitionVersion, schema: VersionSchema, apiVersion: string): KindHooks {
  const hasStatus = version.subresources?.status !== undefined;
  const scale = version.subresources?.scale;
  const whole = (object: any) => ({ apiVersion, kind: schema.struct.name, ...object });
  const check = (object: any, old: any, { problems, context }: Checking): void => {
    const before = old === undefined ? undefined : whole(old);
    const onlyStatus = context.subresource === "status";
    problems.defer(function* (found) {
      const checked = yield* checkObject(whole(object), schema.schema, {
        old: before,
        onlyStatus,
        alsoValues: (values) =>
          scale && checkScaleFields(scale, object, { onlyStatus, found: values }),
      });
      for (const problem of checked.problems.list) found.add(problem);
      for (const warning of checked.warnings) context.warn?.(warning);
    });
  };
  return {
    prepareCreate: (object) => {
      if (hasStatus) delete object.status;
    },
    prepareUpdate: (object, old, { subresource }) => {
      if (subresource === "status") restoreAllButStatus(object, old);
      else if (hasStatus) restoreField(object, old, "status");
      else incrementGenerationForStatus(object, old);
    },
    validate: (object, problems, context) => check(object, undefined, { problems, context }),
    validateUpdate: (object, old, problems, context) => check(object, old, { problems, context }),
    warnings: finalizerWarnings,
  };
}

interface Checking {
  readonly problems: Problems;
  readonly context: HookContext;
}

function restoreField(object: any, old: any, name: string): void {
  if (old[name] === undefined) delete object[name];
  else object[name] = old[name];
}

/** A write of the status subresource changes only the status and managedFields. */
function restoreAllButStatus(object: any, old: any): void {
  const { managedFields, resourceVersion } = object.metadata;
  for (const name of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (name !== "status") restoreField(object, old, name);
  }
  object.metadata = { ...old.metadata, resourceVersion };
  if (managedFields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managedFields;
}

/** Without the status subresource, a change of the status increments the generation, too. */
function incrementGenerationForStatus(object: any, old: any): void {
  if (deepEqual(object.status, old.status)) return;
  object.metadata.generation = Number(old.metadata.generation ?? 0) + 1;
}

const knownFinalizers = ["orphan", "foregroundDeletion", "kubernetes"];

/** Warnings about finalizers that a write adds, in alphabetical order as in Kubernetes. */
function finalizerWarnings(object: any, old: any): readonly string[] {
  const added = new Set<string>(object.metadata.finalizers ?? []);
  for (const name of old?.metadata.finalizers ?? []) added.delete(name);
  const unqualified = [...added].filter(
    (name) => !name.includes("/") && !knownFinalizers.includes(name),
  );
  return unqualified.sort(compareUtf8).map((name) => {
    const path = name.includes(".") ? " including a path (/)" : "";
    return (
      `metadata.finalizers: ${goQuote(name)}: prefer a domain-qualified finalizer name${path} ` +
      "to avoid accidental conflicts with other finalizer writers"
    );
  });
}
