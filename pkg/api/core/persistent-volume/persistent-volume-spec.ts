/** PersistentVolumeSpec, also inline in VolumeAttachment. */
import { goLabels } from "../../go/go-shape.ts";
import { resourceList } from "../shared/resources.ts";
import {
  type Infer,
  inline,
  list,
  named,
  pointer,
  type Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { Quantity } from "#meta";
import { entry, sortedKeys } from "../../strategy.ts";
import { checkNodeSelector } from "../pod/spec/node-selector-rules.ts";
import { checkVolumeSources } from "./persistent-volume-rules.ts";
import { persistentVolumeSource } from "./persistent-volume-sources.ts";
import { objectReference } from "../shared/references.ts";
import { nodeSelector } from "../pod/spec/scheduling.ts";
import { checkAccessModes, checkClassName, checkVolumeMode } from "./volume-rules.ts";

const v1 = structs("api/core/v1");

export const volumeNodeAffinity = v1(
  "VolumeNodeAffinity",
  "Constraints on the nodes from which a volume can be accessed.",
  {
    required: pointer(
      1,
      nodeSelector,
      "Node selector that must match for a node to access the volume.",
    ),
  },
);

export const persistentVolumeSpec = v1(
  "PersistentVolumeSpec",
  "Specification of a PersistentVolume.",
  {
    capacity: value(1, resourceList, "Resources of the volume: `storage`, in bytes. Required."),
    persistentVolumeSource: inline(
      2,
      persistentVolumeSource,
      "Storage that backs the volume. Immutable.",
    ),
    accessModes: value(
      3,
      list(
        named(
          "v1.PersistentVolumeAccessMode",
          "ReadWriteOnce",
          "ReadOnlyMany",
          "ReadWriteMany",
          "ReadWriteOncePod",
        ),
      ),
      "Access modes that the volume supports: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, " +
        "ReadWriteOncePod (cannot be combined with the others). Required.",
      { listType: "atomic" },
    ),
    claimRef: pointer(
      4,
      objectReference,
      "PersistentVolumeClaim that the volume is bound to. Without a uid, the volume is " +
        "reserved for a claim of that name.",
      {
        mapType: "granular",
      },
    ),
    persistentVolumeReclaimPolicy: value(
      5,
      named("v1.PersistentVolumeReclaimPolicy", "Recycle", "Delete", "Retain"),
      "Action to take when the volume is released from its claim. One of Retain (keep for " +
        "manual cleanup), Delete, Recycle (deprecated: scrub the files). Defaults to Retain " +
        "for manually created volumes.",
    ),
    storageClassName: value(
      6,
      string,
      "StorageClass that the volume belongs to. Empty for a volume without a class, which " +
        "binds only to claims that request no class.",
    ),
    mountOptions: value(
      7,
      list(string),
      "Mount options of the volume, for example ro or soft. Not validated: mounting fails if " +
        "one is invalid.",
      {
        listType: "atomic",
      },
    ),
    volumeMode: pointer(
      8,
      named("v1.PersistentVolumeMode", "Block", "Filesystem"),
      "Mode in which the volume is consumed: one of Filesystem (mounted), Block (raw device). " +
        "Defaults to Filesystem. Immutable.",
    ),
    nodeAffinity: pointer(
      9,
      volumeNodeAffinity,
      "Nodes from which the volume can be accessed, which constrains the scheduling of pods " +
        "that use it. Immutable once set.",
    ),
    volumeAttributesClassName: pointer(
      10,
      string,
      "VolumeAttributesClass that the volume belongs to. Set from the claim. Only for CSI volumes.",
      {
        gate: "VolumeAttributesClass",
      },
    ),
  },
);

export type PersistentVolumeSpec = Infer<typeof persistentVolumeSpec>;
type Spec = PersistentVolumeSpec;

const policies = ["Delete", "Recycle", "Retain"];

function checkCapacity(capacity: Spec["capacity"], path: Path, problems: Problems): void {
  const names = sortedKeys(capacity);
  if (names.length === 0) problems.required(path);
  if (names.length !== 1 || names[0] !== "storage") {
    problems.notSupported(path, goLabels(capacity), ["storage"]);
  }
  for (const name of names) {
    const amount = entry(capacity, name) ?? "0";
    const parsed = Quantity.parse(amount);
    if (parsed.sign < 0) {
      const detail = "must be a valid resource quantity";
      problems.invalid(path.key(name), parsed.value(), detail);
    }
    if (parsed.sign <= 0) problems.invalid(path.key(name), amount, "must be greater than zero");
  }
}

function checkAffinity({ nodeAffinity }: Spec, path: Path, problems: Problems): void {
  if (nodeAffinity === undefined) return;
  const requiredPath = path.child("nodeAffinity", "required");
  const { required } = nodeAffinity;
  if (required !== undefined) checkNodeSelector(required, requiredPath, { problems });
  else problems.required(requiredPath, "must specify required node constraints");
}

function checkAttributes(spec: Spec, path: Path, problems: Problems): void {
  const { volumeAttributesClassName: name, csi } = spec;
  if (name === undefined) return;
  const volumeAttributesClassNamePath = path.child("volumeAttributesClassName");
  if (name === "")
    problems.required(volumeAttributesClassNamePath, "an empty string is disallowed");
  else checkClassName(name, volumeAttributesClassNamePath, problems);
  const detail = "has to be specified when using volumeAttributesClassName";
  if (csi === undefined) problems.required(path.child("csi"), detail);
}

interface VolumeOptions {
  /** Whether the spec is inline in a VolumeAttachment. */
  readonly inline?: boolean;
  /** Name of the PersistentVolume; absent for an inline one. */
  readonly volumeName?: string;
  readonly problems: Problems;
}

const notInlineMessage = "may not be specified in the context of inline volumes";

/** Validates an inline spec: only CSI, and only fields needed for mounting. */
function checkInline({ claimRef, capacity, csi }: Spec, path: Path, problems: Problems): void {
  if (claimRef !== undefined) problems.forbidden(path.child("claimRef"), notInlineMessage);
  if (capacity !== undefined) problems.forbidden(path.child("capacity"), notInlineMessage);
  const detail = "has to be specified in the context of inline volumes";
  if (csi === undefined) problems.required(path.child("csi"), detail);
}

export function checkVolumeSpec(
  spec: Spec,
  path: Path,
  { inline: isInline = false, volumeName = "", problems }: VolumeOptions,
): void {
  if (isInline) checkInline(spec, path, problems);
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) problems.required(path.child("accessModes"));
  checkAccessModes(modes, path.child("accessModes"), problems);
  if (!isInline) checkCapacity(spec.capacity, path.child("capacity"), problems);
  const policyPath = path.child("persistentVolumeReclaimPolicy");
  const policy = spec.persistentVolumeReclaimPolicy ?? "";
  if (policy !== "") {
    if (isInline) problems.forbidden(policyPath, notInlineMessage);
    else if (!policies.includes(policy)) problems.notSupported(policyPath, policy, policies);
  }
  checkAffinity(spec, path, problems);
  checkVolumeSources(spec, path, { volumeName, problems });
  if (policy === "Recycle" && /^\/[/.]*$/.test(spec.hostPath?.path ?? "")) {
    problems.forbidden(policyPath, "may not be 'recycle' for a hostPath mount of '/'");
  }
  const classPath = path.child("storageClassName");
  if (isInline && spec.storageClassName) problems.forbidden(classPath, notInlineMessage);
  else checkClassName(spec.storageClassName, classPath, problems);
  checkVolumeMode(spec.volumeMode, path.child("volumeMode"), problems);
  checkAttributes(spec, path, problems);
}
