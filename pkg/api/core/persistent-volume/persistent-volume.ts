import { append, deepClone } from "#base";
import { goDiff } from "../../go/go-diff.ts";
import { goShape } from "../../go/go-shape.ts";
import {
  type Infer,
  named,
  pointer,
  Path,
  value,
  type Problems,
  semanticEquality,
  string,
  structs,
} from "#schema";
import { type HookContext, kind, kubernetes, objectMeta, resolve, time } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { entry, mustNotChange } from "../../strategy.ts";
import { nodeSelectorTermWarnings } from "../node/deprecated-labels.ts";
import { persistentVolumeSource } from "./persistent-volume-sources.ts";
import {
  checkVolumeSpec,
  type PersistentVolumeSpec,
  persistentVolumeSpec,
  volumeNodeAffinity,
} from "./persistent-volume-spec.ts";
import { roundAmounts } from "../shared/resource-amounts.ts";
import { classOf, formatAccessModes, oldClassAnnotation } from "./volume-rules.ts";

const v1 = structs("api/core/v1");

const persistentVolumeStatus = v1(
  "PersistentVolumeStatus",
  "Observed state of a PersistentVolume.",
  {
    phase: value(
      1,
      named("v1.PersistentVolumePhase", "Pending", "Available", "Bound", "Released", "Failed"),
      "Phase of the volume. One of Pending (not yet available), Available (not yet bound), " +
        "Bound, Released (its claim was deleted), Failed (reclamation failed).",
    ),
    message: value(2, string, "Human-readable message about the phase of the volume."),
    reason: value(3, string, "Machine-readable CamelCase reason for a failure."),
    lastPhaseTransitionTime: pointer(
      4,
      time,
      "Time at which phase last changed. Set by the API server.",
    ),
  },
);

const persistentVolumeV1 = v1(
  "PersistentVolume",
  "PersistentVolume is a piece of storage in the cluster, created by an administrator or " +
    "provisioned dynamically for a claim.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, persistentVolumeSpec, "Storage, capacity and access modes of the volume."),
    status: value(3, persistentVolumeStatus, "Phase of the volume. Read-only."),
  },
);

type PersistentVolume = Infer<typeof persistentVolumeV1>;
type Spec = PersistentVolumeSpec;

const path = Path.of("spec");
const mountAnnotation = `volume.beta.${kubernetes.label}/mount-options`;

/** Sources for which the annotation with mount options is allowed. */
const mountableSources = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "nfs",
  "rbd",
  "quobyte",
  "iscsi",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "azureDisk",
  "photonPersistentDisk",
] as const;

function fillDefaults({ spec, status }: PersistentVolume): void {
  status.phase ||= "Pending";
  spec.persistentVolumeReclaimPolicy ||= "Retain";
  spec.volumeMode ??= "Filesystem";
  if (spec.hostPath !== undefined) spec.hostPath.type ??= "";
  roundAmounts(spec.capacity);
}

function prepareUpdate(
  volume: PersistentVolume,
  old: PersistentVolume,
  context: HookContext,
): void {
  if (context.subresource === "") {
    volume.status = old.status;
    return;
  }
  volume.spec = old.spec;
  const { status } = volume;
  const { phase, lastPhaseTransitionTime: before } = old.status;
  const now = status.lastPhaseTransitionTime;
  if (status.phase === phase) {
    if (now === undefined && before !== undefined) status.lastPhaseTransitionTime = before;
  } else if (now === undefined || now === before) {
    status.lastPhaseTransitionTime = timeOf(context);
  }
}

function timeOf({ now }: HookContext): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}

function checkMountOptions({ metadata, spec }: PersistentVolume, problems: Problems): void {
  if (entry(metadata.annotations, mountAnnotation) === undefined) return;
  if (mountableSources.some((name) => spec[name] !== undefined)) return;
  const fieldPath = Path.of("metadata.annotations").child(mountAnnotation);
  problems.forbidden(fieldPath, "may not specify mount options for this volume type");
}

function validate(volume: PersistentVolume, problems: Problems): void {
  checkVolumeSpec(volume.spec, path, { volumeName: volume.metadata.name ?? "", problems });
  checkMountOptions(volume, problems);
}

/** The new spec without controllerExpandSecretRef if the update adds it to a CSI source. */
function withoutAddedSecret(spec: Spec, before: Spec): Spec {
  if (spec.csi?.controllerExpandSecretRef === undefined) return spec;
  if (before.csi === undefined || before.csi.controllerExpandSecretRef !== undefined) return spec;
  const without = deepClone(spec);
  delete without.csi?.controllerExpandSecretRef;
  return without;
}

type Affinity = Spec["nodeAffinity"];

/** Beta node label -> GA label that may replace it. */
const stableLabels: Readonly<Record<string, string>> = {
  "failure-domain.beta.{label}/zone": "topology.{label}/zone",
  "failure-domain.beta.{label}/region": "topology.{label}/region",
  "beta.{label}/os": "{label}/os",
  "beta.{label}/arch": "{label}/arch",
  "beta.{label}/instance-type": "node.{label}/instance-type",
};

/** Rejects changes of nodeAffinity other than from a beta label key to its GA key. */
function checkAffinityChange(
  now: Affinity,
  before: NonNullable<Affinity>,
  problems: Problems,
): void {
  const renamed = deepClone(before);
  for (const [at, term] of (renamed.required?.nodeSelectorTerms ?? []).entries()) {
    const counterpart = now?.required?.nodeSelectorTerms?.[at];
    for (const list of ["matchExpressions", "matchFields"] as const) {
      for (const [index, requirement] of (term[list] ?? []).entries()) {
        const key = counterpart?.[list]?.[index]?.key;
        if (key !== undefined && key === stableLabel(requirement.key)) requirement.key = key;
      }
    }
  }
  if (now !== undefined && semanticEquality(volumeNodeAffinity)(now, renamed)) return;
  const detail = "field is immutable, except for updating from beta label to GA";
  const reported = now === undefined ? null : goShape(volumeNodeAffinity, now);
  problems.invalid(Path.of("nodeAffinity"), reported, detail);
}

/** GA label for a beta label. Returns "" for other keys, since Kubernetes allows clearing them. */
function stableLabel(key: string): string {
  const found = Object.entries(stableLabels).find(([beta]) => resolve(beta, kubernetes) === key);
  return found === undefined ? "" : resolve(found[1], kubernetes);
}

function validateUpdate(volume: PersistentVolume, old: PersistentVolume, problems: Problems): void {
  validate(volume, problems);
  // Kubernetes validates the spec twice and reports each error twice.
  checkVolumeSpec(volume.spec, path, { volumeName: volume.metadata.name ?? "", problems });
  const { spec } = volume;
  const candidate = withoutAddedSecret(spec, old.spec);
  if (!semanticEquality(persistentVolumeSource)(candidate, old.spec)) {
    const detail = "spec.persistentvolumesource is immutable after creation";
    const diff = goDiff(persistentVolumeSource, old.spec, candidate);
    problems.forbidden(path.child("persistentvolumesource"), `${detail}\n${diff}`);
  }
  const modes = { now: spec.volumeMode, before: old.spec.volumeMode };
  mustNotChange(problems, Path.of("volumeMode"), modes);
  if (old.spec.nodeAffinity !== undefined) {
    checkAffinityChange(spec.nodeAffinity, old.spec.nodeAffinity, problems);
  }
  const attributes = path.child("volumeAttributesClassName");
  if (old.spec.volumeAttributesClassName === undefined) return;
  if (spec.volumeAttributesClassName !== undefined) return;
  problems.forbidden(attributes, "update from non-nil value to nil is forbidden");
}

/** Removed sources with the releases that removed them, in Kubernetes' order. */
const removedSources = [
  { source: "cephfs", shown: "cephfs", since: "1.28", until: "1.31" },
  { source: "photonPersistentDisk", shown: "photonPersistentDisk", since: "1.11", until: "1.16" },
  { source: "scaleIO", shown: "scaleIO", since: "1.16", until: "1.22" },
  { source: "storageos", shown: "storageOS", since: "1.22", until: "1.25" },
  { source: "glusterfs", shown: "glusterfs", since: "1.25", until: "1.26" },
  { source: "rbd", shown: "rbd", since: "1.28", until: "1.31" },
] as const;

function warnings(
  { metadata, spec }: PersistentVolume,
  domain: HookContext["domain"],
): readonly string[] {
  const found: string[] = [];
  const annotation = (key: string, since: string, field: string) => {
    if (entry(metadata.annotations, key) === undefined) return;
    const instead = `use "${field}" attribute instead`;
    found.push(`metadata.annotations[${key}]: deprecated since v${since}; ${instead}`);
  };
  annotation(oldClassAnnotation, "1.8", "storageClassName");
  annotation(mountAnnotation, "1.31", "mountOptions");
  if (spec.persistentVolumeReclaimPolicy === "Recycle") {
    found.push(
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. " +
        "Instead, the recommended approach is to use dynamic provisioning.",
    );
  }
  const terms = path.child("nodeAffinity", "required", "nodeSelectorTerms");
  for (const [index, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries()) {
    const options = { domain, checkValues: false };
    append(found, nodeSelectorTermWarnings(term, terms.index(index), options));
  }
  for (const { source, shown, since, until } of removedSources) {
    if (spec[source] === undefined) continue;
    found.push(`spec.${shown}: deprecated in v${since}, non-functional in v${until}+`);
  }
  return found;
}

export const persistentVolume = kind(persistentVolumeV1, {
  group: "",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  shortNames: ["pv"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: persistentVolumeV1, onByDefault: true, convert: "hub" }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: { metadataOnUpdate: { "": ["object", "object"] }, deleteReturnsObject: true },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      object.status = { phase: "Pending", lastPhaseTransitionTime: timeOf(context) };
    },
    prepareUpdate,
    validate,
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "") validateUpdate(object, old, problems);
    },
    warnings: (object, _old, { domain, subresource }) =>
      subresource === "" ? warnings(object, domain) : [],
  },
  columns: [
    nameColumn,
    column("Capacity", "Size of the volume."),
    column("Access Modes", "Access modes that the volume supports."),
    column("Reclaim Policy", "What happens to the volume after its claim is deleted."),
    column("Status", "Phase of the volume."),
    column("Claim", "Claim that the volume is bound to."),
    column("StorageClass", "StorageClass of the volume."),
    column("VolumeAttributesClass", "VolumeAttributesClass of the volume."),
    column("Reason", "Reason for the phase."),
    ageColumn,
    column("VolumeMode", "Filesystem or Block.", { priority: 1 }),
  ],
  row: (object, context) => {
    const { metadata, spec, status } = object;
    const { claimRef: claim } = spec;
    return [
      nameOf(object),
      spec.capacity?.["storage"] ?? "0",
      formatAccessModes(spec.accessModes),
      spec.persistentVolumeReclaimPolicy ?? "",
      metadata.deletionTimestamp ? "Terminating" : (status.phase ?? ""),
      claim === undefined ? "" : `${claim.namespace ?? ""}/${claim.name ?? ""}`,
      classOf(object),
      spec.volumeAttributesClassName ?? "<unset>",
      status.reason ?? "",
      ageOf(object, context),
      spec.volumeMode ?? "<unset>",
    ];
  },
});
