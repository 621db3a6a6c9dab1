import { deepEqual } from "#base";
import {
  required,
  bool,
  type Infer,
  list,
  map,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { kind, objectMeta } from "#meta";
import { checkTopologyTerms, topologySelectorTerm } from "../core/shared/topology-selector.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange } from "../strategy.ts";
import { checkDriverName, checkParameters } from "./class-rules.ts";

const v1 = structs("api/storage/v1");

const storageClassV1 = v1(
  "StorageClass",
  "A kind of storage that volumes are made of on request.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    provisioner: required(2, string, "Who makes the volumes; fixed."),
    parameters: value(3, map(string), "Parameters for making them; fixed."),
    reclaimPolicy: pointer(
      4,
      named("v1.PersistentVolumeReclaimPolicy", "Delete", "Retain"),
      "What becomes of volumes after use: Delete or Retain; fixed.",
      { default: "Delete" },
    ),
    mountOptions: value(5, list(string), "Options for mounting them; not checked.", {
      listType: "atomic",
    }),
    allowVolumeExpansion: pointer(6, bool, "Whether they may grow."),
    volumeBindingMode: pointer(
      7,
      named("v1.VolumeBindingMode", "Immediate", "WaitForFirstConsumer"),
      "When they are made: Immediate or WaitForFirstConsumer; fixed.",
      { default: "Immediate" },
    ),
    allowedTopologies: value(8, list(topologySelectorTerm), "Where they may be made.", {
      listType: "atomic",
    }),
  },
);

type StorageClass = Infer<typeof storageClassV1>;

const reclaimPolicies = ["Delete", "Retain"];
const bindingModes = ["Immediate", "WaitForFirstConsumer"];

function validate(object: StorageClass, problems: Problems): void {
  checkDriverName(object.provisioner, Path.of("provisioner"), problems);
  checkParameters(object.parameters, Path.of("parameters"), problems);
  const { reclaimPolicy, volumeBindingMode, allowedTopologies } = object;
  if (reclaimPolicy && !reclaimPolicies.includes(reclaimPolicy)) {
    problems.notSupported(Path.of("reclaimPolicy"), reclaimPolicy, reclaimPolicies);
  }
  const path = Path.of("volumeBindingMode");
  if (volumeBindingMode === undefined) problems.required(path);
  else if (!bindingModes.includes(volumeBindingMode)) {
    problems.notSupported(path, volumeBindingMode, bindingModes);
  }
  checkTopologyTerms(allowedTopologies ?? [], Path.of("allowedTopologies"), problems);
}

/** What makes a volume what it is cannot change. */
function checkFixed(object: StorageClass, old: StorageClass, problems: Problems): void {
  for (const field of ["parameters", "provisioner", "reclaimPolicy"] as const) {
    if (deepEqual(object[field], old[field])) continue;
    problems.forbidden(Path.of(field), `updates to ${field} are forbidden.`);
  }
  const values = { now: object.volumeBindingMode, before: old.volumeBindingMode };
  mustNotChange(problems, Path.of("volumeBindingMode"), values);
}

export const storageClass = kind(storageClassV1, {
  group: "storage.{api}",
  kind: "StorageClass",
  plural: "storageclasses",
  shortNames: ["sc"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: storageClassV1, onByDefault: true, convert: "hub" }],
  rules: { deleteReturnsObject: true, metadataCheckedAgain: true },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      validate(object, problems);
      checkFixed(object, old, problems);
    },
  },
  columns: [
    nameColumn,
    column("Provisioner", "Who makes the volumes."),
    column("ReclaimPolicy", "What becomes of volumes after use."),
    column("VolumeBindingMode", "When volumes are made."),
    column("AllowVolumeExpansion", "Whether volumes may grow."),
    ageColumn,
  ],
  row: (object, context) => [
    isDefault(object) ? `${nameOf(object)} (default)` : nameOf(object),
    object.provisioner,
    object.reclaimPolicy ?? "Delete",
    object.volumeBindingMode ?? "Immediate",
    object.allowVolumeExpansion ?? false,
    ageOf(object, context),
  ],
});

/** Under the label domain, whichever that is; an older name of the annotation counts as well. */
function isDefault({ metadata }: StorageClass): boolean {
  return Object.entries(metadata.annotations ?? {}).some(
    ([key, value]) =>
      value === "true" && /^storageclass\.(beta\.)?[^/]+\/is-default-class$/.test(key),
  );
}
