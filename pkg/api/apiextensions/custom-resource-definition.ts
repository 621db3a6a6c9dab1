import { kind } from "#meta";
import { column, nameColumn, nameOf } from "../printing.ts";
import {
  checkDefinition,
  checkDefinitionName,
  checkDefinitionUpdate,
  checkStatus,
} from "./definition-rules.ts";
import { type CustomResourceDefinition, customResourceDefinitionV1 } from "./definition-structs.ts";
import { markDeleting } from "./definition-conditions.ts";
import { customResourceDefinitionV1beta1, definitionFromV1beta1 } from "./definition-v1beta1.ts";
import { unknownFormats } from "./schema-rules.ts";

/** Defaults `singular` and `listKind` from the kind. */
function fillNames({ spec }: CustomResourceDefinition): void {
  const { names } = spec;
  if (!names.singular && names.kind !== "") names.singular = names.kind.toLowerCase();
  if (!names.listKind && names.kind !== "") names.listKind = `${names.kind}List`;
}

/** Adds the storage version to `status.storedVersions`. */
function recordStorageVersion({ spec, status }: CustomResourceDefinition): void {
  const storage = spec.versions?.find((version) => version.storage)?.name;
  const stored = status.storedVersions ?? [];
  if (storage === undefined || stored.includes(storage)) return;
  status.storedVersions = [...stored, storage];
}

function formatsOf({ spec }: CustomResourceDefinition): readonly string[] {
  const formats = new Set<string>();
  for (const { schema } of spec.versions ?? []) {
    if (schema?.openAPIV3Schema !== undefined) unknownFormats(schema.openAPIV3Schema, formats);
  }
  return [...formats];
}

export const customResourceDefinition = kind(customResourceDefinitionV1, {
  group: "apiextensions.{api}",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  scope: "Cluster",
  storagePrefix: "apiextensions.{api}/customresourcedefinitions",
  formerVersions: ["v1beta1"],
  versions: [
    { version: "v1", struct: customResourceDefinitionV1, onByDefault: true, convert: "hub" },
  ],
  readableVersions: [
    { version: "v1beta1", struct: customResourceDefinitionV1beta1, up: definitionFromV1beta1 },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    name: checkDefinitionName,
    unconditionalUpdate: false,
    generation: true,
    freeFinalizers: true,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    default: (object) => {
      fillNames(object);
      if ((object.status.storedVersions ?? []).length === 0) recordStorageVersion(object);
    },
    markDeleting,
    prepareCreate: (object) => {
      const acceptedNames = { plural: "", kind: "" };
      object.status = { conditions: null, acceptedNames, storedVersions: null };
      recordStorageVersion(object);
    },
    prepareUpdate: (object, old, { subresource }) => {
      if (subresource === "status") object.spec = old.spec;
      else {
        object.status = { ...old.status };
        recordStorageVersion(object);
      }
    },
    validate: checkDefinition,
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") checkStatus(object, problems);
      else checkDefinitionUpdate(object, old, { problems, context });
    },
    warnings: (object, old) => {
      const known = old === undefined ? [] : formatsOf(old);
      return formatsOf(object)
        .filter((format) => !known.includes(format))
        .map((format) => `unrecognized format ${JSON.stringify(format)}`);
    },
  },
  columns: [
    nameColumn,
    column("Created At", "Time at which the definition was created.", { type: "date" }),
  ],
  row: (object) => [nameOf(object), object.metadata.creationTimestamp ?? null],
});
