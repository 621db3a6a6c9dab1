import { resourceList } from "../shared/resources.ts";
import { deepClone } from "#base";
import { goDiff } from "../../go/go-diff.ts";
import {
  required,
  type Infer,
  list,
  map,
  named,
  pointer,
  Path,
  value,
  type Problems,
  semanticEquality,
  string,
  structs,
  mergedBy,
} from "#schema";
import {
  type HookContext,
  isQualifiedName,
  kind,
  kubernetes,
  objectMeta,
  Quantity,
  time,
} from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import {
  entry,
  fieldImmutableMessage,
  mustNotChange,
  sortedKeys,
  unsupported,
} from "../../strategy.ts";
import { checkClaimSpec, claimWarnings } from "./persistent-volume-claim-rules.ts";
import {
  type PersistentVolumeClaimSpec,
  persistentVolumeClaimSpec,
} from "./persistent-volume-claim-spec.ts";
import { roundAmounts } from "../shared/resource-amounts.ts";
import { classOf, formatAccessModes, oldClassAnnotation } from "./volume-rules.ts";

const v1 = structs("api/core/v1");

const persistentVolumeClaimCondition = v1(
  "PersistentVolumeClaimCondition",
  "One observed condition of a PersistentVolumeClaim.",
  {
    type: required(
      1,
      named(
        "v1.PersistentVolumeClaimConditionType",
        "Resizing",
        "FileSystemResizePending",
        "ControllerResizeError",
        "NodeResizeError",
        "ModifyVolumeError",
        "ModifyingVolume",
      ),
      "Name of the condition: Resizing, FileSystemResizePending, ControllerResizeError, " +
        "NodeResizeError, ModifyVolumeError or ModifyingVolume.",
      { openApi: { enum: false } },
    ),
    status: required(
      2,
      named("v1.ConditionStatus", "True", "False", "Unknown"),
      "Status of the condition: one of True, False, Unknown.",
      { openApi: { enum: false } },
    ),
    lastProbeTime: value(3, time, "Time at which the condition was last checked."),
    lastTransitionTime: value(4, time, "Time at which `status` last changed to another value."),
    reason: value(5, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(6, string, "Human-readable message with details about the last transition."),
  },
);

const modifyVolumeStatus = v1(
  "ModifyVolumeStatus",
  "State of a ModifyVolume operation, which applies a VolumeAttributesClass to a volume.",
  {
    targetVolumeAttributesClassName: value(
      1,
      string,
      "Name of the VolumeAttributesClass being applied.",
    ),
    status: required(
      2,
      named("v1.PersistentVolumeClaimModifyVolumeStatus", "Pending", "InProgress", "Infeasible"),
      "Status of the operation: one of Pending (requirements are missing, such as the class " +
        "itself), InProgress, Infeasible (rejected by the driver; specify another class).",
    ),
  },
);

const persistentVolumeClaimStatus = v1(
  "PersistentVolumeClaimStatus",
  "Observed state of a PersistentVolumeClaim.",
  {
    phase: value(
      1,
      named("v1.PersistentVolumeClaimPhase", "Pending", "Bound", "Lost"),
      "Phase of the claim: one of Pending (not yet bound), Bound, Lost (the bound volume no " +
        "longer exists).",
    ),
    accessModes: value(
      2,
      list(
        named(
          "v1.PersistentVolumeAccessMode",
          "ReadWriteOnce",
          "ReadOnlyMany",
          "ReadWriteMany",
          "ReadWriteOncePod",
        ),
      ),
      "Access modes of the bound volume: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, " +
        "ReadWriteOncePod.",
      { listType: "atomic" },
    ),
    capacity: value(3, resourceList, "Actual resources of the bound volume, by name."),
    conditions: value(
      4,
      list(persistentVolumeClaimCondition),
      "Latest observed conditions, one entry per condition type.",
      mergedBy("type"),
    ),
    allocatedResources: value(
      5,
      resourceList,
      "Resources allocated to the claim, by name. Larger than capacity while an expansion is " +
        "in progress. Quota uses the larger of this and the request.",
      {
        gate: "RecoverVolumeExpansionFailure",
      },
    ),
    allocatedResourceStatuses: value(
      7,
      map(named("v1.ClaimResourceStatus"), "map[v1.ResourceName]v1.ClaimResourceStatus"),
      "State of the resize, by resource: ControllerResizeInProgress, " +
        "ControllerResizeInfeasible, NodeResizePending, NodeResizeInProgress or " +
        "NodeResizeInfeasible. Absent if no resize is in progress.",
      {
        gate: "RecoverVolumeExpansionFailure",
        mapType: "granular",
        openApi: {
          enum: [
            "ControllerResizeInProgress",
            "ControllerResizeInfeasible",
            "NodeResizeInProgress",
            "NodeResizeInfeasible",
            "NodeResizePending",
          ],
        },
      },
    ),
    currentVolumeAttributesClassName: pointer(
      8,
      string,
      "VolumeAttributesClass currently in effect. Absent if none is applied.",
      {
        gate: "VolumeAttributesClass",
      },
    ),
    modifyVolumeStatus: pointer(
      9,
      modifyVolumeStatus,
      "State of a change to another VolumeAttributesClass. Absent if no change is in progress.",
      {
        gate: "VolumeAttributesClass",
      },
    ),
  },
);

export const persistentVolumeClaimV1 = v1(
  "PersistentVolumeClaim",
  "PersistentVolumeClaim requests storage for the pods of a namespace, and is bound to a " +
    "PersistentVolume that satisfies it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(
      2,
      persistentVolumeClaimSpec,
      "Size, access modes and class of the requested storage.",
    ),
    status: value(
      3,
      persistentVolumeClaimStatus,
      "Binding phase, capacity and resize progress. Read-only.",
    ),
  },
);

type PersistentVolumeClaim = Infer<typeof persistentVolumeClaimV1>;

const specPath = Path.of("spec");
const statusPath = Path.of("status");
const snapshotGroup = `snapshot.storage.${kubernetes.api}`;

function fillDefaults({ spec, status }: PersistentVolumeClaim): void {
  spec.volumeMode ??= "Filesystem";
  status.phase ||= "Pending";
  roundAmounts(spec.resources.requests);
  roundAmounts(spec.resources.limits);
  roundAmounts(status.capacity);
  roundAmounts(status.allocatedResources);
}

function isClaimOrSnapshot({ apiGroup, kind: about }: DataSource): boolean {
  if (about === "PersistentVolumeClaim") return !apiGroup;
  return about === "VolumeSnapshot" && apiGroup === snapshotGroup;
}

type DataSource = NonNullable<PersistentVolumeClaimSpec["dataSource"]>;

/**
 * Synchronizes `dataSource` and `dataSourceRef`. `dataSource` drops unsupported kinds,
 * `dataSourceRef` accepts all; an absent field is set from the other.
 */
function syncDataSources(
  spec: PersistentVolumeClaimSpec,
  before: PersistentVolumeClaimSpec | undefined,
  context: HookContext,
): void {
  const isCrossing = Boolean(spec.dataSourceRef?.namespace);
  if (isCrossing && !context.gate("CrossNamespaceVolumeDataSource")) {
    if (before?.dataSourceRef === undefined) delete spec.dataSourceRef;
  }
  if (before?.dataSource === undefined && before?.dataSourceRef === undefined) {
    if (spec.dataSource !== undefined && !isClaimOrSnapshot(spec.dataSource))
      delete spec.dataSource;
  }
  const { dataSource, dataSourceRef } = spec;
  if (dataSourceRef === undefined) {
    if (dataSource !== undefined) spec.dataSourceRef = { ...dataSource };
  } else if (dataSource === undefined && !dataSourceRef.namespace) {
    const { namespace: _own, ...dataSource } = dataSourceRef;
    spec.dataSource = dataSource;
  }
}

function prepareUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  context: HookContext,
): void {
  if (context.subresource === "status") {
    claim.spec = old.spec;
    return;
  }
  claim.status = old.status;
  syncDataSources(claim.spec, old.spec, context);
}

/** Whether the update moves the same class from the deprecated annotation into the field. */
function movesClass(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const oldClass = entry(old.metadata.annotations, oldClassAnnotation);
  const newClass = entry(claim.metadata.annotations, oldClassAnnotation);
  if (oldClass === undefined || old.spec.storageClassName !== undefined) return false;
  return (
    claim.spec.storageClassName === oldClass && (newClass === undefined || newClass === oldClass)
  );
}

/** Both specs with equal values of the mutable fields. */
function withoutAllowedChanges(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): { readonly now: PersistentVolumeClaimSpec; readonly before: PersistentVolumeClaimSpec } {
  const now = deepClone(claim.spec);
  const before = deepClone(old.spec);
  if (!before.volumeName) restore(before, now, "volumeName");
  const hasOldClass = entry(old.metadata.annotations, oldClassAnnotation) !== undefined;
  if (movesClass(claim, old) || (!hasOldClass && before.storageClassName === undefined)) {
    delete now.storageClassName;
  }
  if (claim.status.phase !== "Bound") return { now, before };
  const { requests } = now.resources;
  const storage = before.resources.requests?.["storage"];
  if (requests !== undefined && storage !== undefined) requests["storage"] = storage;
  restore(now, before, "volumeAttributesClassName");
  return { now, before };
}

function restore(
  spec: PersistentVolumeClaimSpec,
  before: PersistentVolumeClaimSpec,
  field: "volumeName" | "volumeAttributesClassName",
): void {
  const value = before[field];
  if (value === undefined) delete spec[field];
  else spec[field] = value;
}

function checkUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  problems: Problems,
): void {
  const oldClass = entry(old.metadata.annotations, oldClassAnnotation) ?? "";
  const newClass = entry(claim.metadata.annotations, oldClassAnnotation) ?? "";
  if (oldClass !== newClass && !movesClass(claim, old)) {
    const path = Path.of("metadata.annotations").child(oldClassAnnotation);
    problems.invalid(path, newClass, fieldImmutableMessage);
  }
  const { now, before } = withoutAllowedChanges(claim, old);
  if (!semanticEquality(persistentVolumeClaimSpec)(now, before)) {
    const detail =
      "spec is immutable after creation except resources.requests and volumeAttributesClassName " +
      "for bound claims";
    const diff = goDiff(persistentVolumeClaimSpec, before, now);
    problems.forbidden(specPath, `${detail}\n${diff}`);
  }
  checkSize(claim, old, problems);
  const modes = { now: claim.spec.volumeMode, before: old.spec.volumeMode };
  mustNotChange(problems, Path.of("volumeMode"), modes);
  const attributes = claim.spec.volumeAttributesClassName;
  if (!old.status.currentVolumeAttributesClassName || attributes) return;
  const target = attributes === undefined ? "nil" : "empty string";
  const detail = "is forbidden when status.currentVolumeAttributesClassName is not nil";
  problems.forbidden(specPath.child("volumeAttributesClassName"), `update to ${target} ${detail}`);
}

/** Allows the request to shrink while it exceeds the current capacity. */
function checkSize(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  problems: Problems,
): void {
  const size = ({ spec }: PersistentVolumeClaim) =>
    Quantity.parse(spec.resources.requests?.["storage"] ?? "0");
  if (size(claim).compare(size(old)) >= 0) return;
  if (size(claim).compare(Quantity.parse(old.status.capacity?.["storage"] ?? "0")) > 0) return;
  const path = specPath.child("resources", "requests", "storage");
  problems.forbidden(path, "field can not be less than status.capacity");
}

/** In the order in which messages list them. */
const resizeStatuses = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];

function checkStatus({ spec, status }: PersistentVolumeClaim, problems: Problems): void {
  if (!spec.accessModes?.length) problems.required(Path.of("Spec.accessModes"));
  const capacity = statusPath.child("capacity");
  for (const name of sortedKeys(status.capacity)) {
    checkAmount(entry(status.capacity, name), capacity.key(name), problems);
  }
  const states = statusPath.child("allocatedResourceStatuses");
  for (const name of sortedKeys(status.allocatedResourceStatuses)) {
    checkResource(name, states, problems);
    const state = entry(status.allocatedResourceStatuses, name) ?? "";
    if (resizeStatuses.includes(state)) continue;
    // The reported value is the name, as in Kubernetes.
    unsupported(problems, states, { value: name, supported: resizeStatuses });
  }
  const amounts = statusPath.child("allocatedResources");
  for (const name of sortedKeys(status.allocatedResources)) {
    if (!checkResource(name, amounts, problems)) continue;
    checkAmount(entry(status.allocatedResources, name), amounts.key(name), problems);
  }
}

/** Requires `storage` or a resource with a domain prefix. */
function checkResource(name: string, path: Path, problems: Problems): boolean {
  const messages = isQualifiedName(name);
  for (const message of messages) problems.invalid(path, name, message);
  if (messages.length > 0) return false;
  const isNative = !name.includes("/") || name.includes(`${kubernetes.label}/`);
  if (name === "storage" || !isNative) return true;
  problems.notSupported(path, name, ["storage"]);
  return false;
}

function checkAmount(amount: string | undefined, path: Path, problems: Problems): void {
  const parsed = Quantity.parse(amount ?? "0");
  if (parsed.sign >= 0) return;
  problems.invalid(path, parsed.value(), "must be a valid resource quantity");
}

function warnings({ metadata, spec }: PersistentVolumeClaim): readonly string[] {
  const old =
    `metadata.annotations[${oldClassAnnotation}]: ` +
    'deprecated since v1.8; use "storageClassName" attribute instead';
  const hasOld = entry(metadata.annotations, oldClassAnnotation) !== undefined;
  return [...(hasOld ? [old] : []), ...claimWarnings(spec, specPath)];
}

export const persistentVolumeClaim = kind(persistentVolumeClaimV1, {
  group: "",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortNames: ["pvc"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: persistentVolumeClaimV1, onByDefault: true, convert: "hub" }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: { metadataOnUpdate: { "": ["object", "change", "object"] }, deleteReturnsObject: true },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      object.status = { phase: "Pending" };
      syncDataSources(object.spec, undefined, context);
    },
    prepareUpdate,
    validate: ({ spec }, problems) => checkClaimSpec(spec, specPath, problems),
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") return checkStatus(object, problems);
      // Kubernetes validates the spec twice and reports each error twice.
      checkClaimSpec(object.spec, specPath, problems);
      checkClaimSpec(object.spec, specPath, problems);
      checkUpdate(object, old, problems);
    },
    warnings: (object, _old, { subresource }) => (subresource === "" ? warnings(object) : []),
  },
  columns: [
    nameColumn,
    column("Status", "Phase of the claim."),
    column("Volume", "PersistentVolume that the claim is bound to."),
    column("Capacity", "Actual size of the bound volume."),
    column("Access Modes", "Access modes of the bound volume."),
    column("StorageClass", "StorageClass of the claim."),
    column("VolumeAttributesClass", "VolumeAttributesClass of the claim."),
    ageColumn,
    column("VolumeMode", "Filesystem or Block.", { priority: 1 }),
  ],
  row: (object, context) => {
    const { metadata, spec, status } = object;
    const { volumeName = "" } = spec;
    const isBound = volumeName !== "";
    return [
      nameOf(object),
      metadata.deletionTimestamp ? "Terminating" : (status.phase ?? ""),
      volumeName,
      isBound ? (status.capacity?.["storage"] ?? "0") : "",
      isBound ? formatAccessModes(status.accessModes) : "",
      classOf(object),
      spec.volumeAttributesClassName ?? "<unset>",
      ageOf(object, context),
      spec.volumeMode ?? "<unset>",
    ];
  },
});
