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
import { type HookContext, kind, objectMeta } from "#meta";
import { labelDeprecation } from "../core/node/deprecated-labels.ts";
import { checkTopologyTerms, topologySelectorTerm } from "../core/shared/topology-selector.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange, isSameField } from "../strategy.ts";
import { checkDriverName, checkParameters } from "./class-rules.ts";

const v1 = structs("api/storage/v1");

const storageClassV1 = v1(
  "StorageClass",
  "StorageClass describes the parameters of a class of storage, for the dynamic provisioning " +
    "of PersistentVolumes.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The annotation is-default-class marks the default of the cluster.",
    ),
    provisioner: required(
      2,
      string,
      "Name of the provisioner, usually that of a CSI driver. Immutable.",
    ),
    parameters: value(
      3,
      map(string),
      "Parameters for the provisioner: at most 512, and 256 KiB in total. Immutable.",
    ),
    reclaimPolicy: pointer(
      4,
      named("v1.PersistentVolumeReclaimPolicy", "Delete", "Retain"),
      "Reclaim policy of provisioned PersistentVolumes: one of Delete, Retain. Defaults to " +
        "Delete. Immutable.",
      { default: "Delete", openApi: { enum: ["Delete", "Recycle", "Retain"] } },
    ),
    mountOptions: value(
      5,
      list(string),
      "Mount options of provisioned PersistentVolumes. Not validated: mounting fails if one is " +
        "invalid.",
      {
        listType: "atomic",
      },
    ),
    allowVolumeExpansion: pointer(
      6,
      bool,
      "Whether volumes can be expanded after creation. Defaults to false.",
    ),
    volumeBindingMode: pointer(
      7,
      named("v1.VolumeBindingMode", "Immediate", "WaitForFirstConsumer"),
      "When volumes are provisioned and bound. One of Immediate (once the claim is created), " +
        "WaitForFirstConsumer (once a pod that uses the claim is scheduled). Defaults to " +
        "Immediate. Immutable.",
      { default: "Immediate" },
    ),
    allowedTopologies: value(
      8,
      list(topologySelectorTerm),
      "Node topologies in which volumes can be provisioned. Unrestricted if empty.",
      {
        listType: "atomic",
      },
    ),
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

/** Rejects changes of immutable fields. */
function checkFixed(object: StorageClass, old: StorageClass, problems: Problems): void {
  for (const field of ["parameters", "provisioner", "reclaimPolicy"] as const) {
    if (isSameField(storageClassV1, field, [object, old])) continue;
    problems.forbidden(Path.of(field), `updates to ${field} are forbidden.`);
  }
  const values = { now: object.volumeBindingMode, before: old.volumeBindingMode };
  mustNotChange(problems, Path.of("volumeBindingMode"), values);
}

function warnings({ allowedTopologies = [] }: StorageClass, { domain }: HookContext) {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }, index) => {
    const path = Path.of("allowedTopologies").index(index).child("matchLabelExpressions");
    return matchLabelExpressions.flatMap(({ key }, at) => {
      const message = labelDeprecation(key, domain);
      return message === undefined ? [] : [`${path.index(at).child("key")}: ${message}`];
    });
  });
}

export const storageClass = kind(storageClassV1, {
  group: "storage.{api}",
  kind: "StorageClass",
  plural: "storageclasses",
  shortNames: ["sc"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: storageClassV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["object", "change"] }, deleteReturnsObject: true },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      validate(object, problems);
      checkFixed(object, old, problems);
    },
    warnings: (object, _old, context) => warnings(object, context),
  },
  columns: [
    nameColumn,
    column("Provisioner", "Provisioner that creates the volumes."),
    column("ReclaimPolicy", "What happens to volumes after their claim is deleted."),
    column("VolumeBindingMode", "When volumes are provisioned and bound."),
    column("AllowVolumeExpansion", "Whether claims may request more storage later."),
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

/** Whether the annotation marks the default class; the beta annotation counts as well. */
function isDefault({ metadata }: StorageClass): boolean {
  return Object.entries(metadata.annotations ?? {}).some(
    ([key, value]) =>
      value === "true" && /^storageclass\.(beta\.)?[^/]+\/is-default-class$/.test(key),
  );
}
