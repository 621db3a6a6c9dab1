import {
  required,
  bool,
  type Infer,
  int32,
  map,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  semanticEquality,
} from "#schema";
import { type HookContext, isDns1123Subdomain, kind, objectMeta, time } from "#meta";
import {
  checkVolumeSpec,
  persistentVolumeSpec,
} from "../core/persistent-volume/persistent-volume-spec.ts";
import { roundAmounts } from "../core/shared/resource-amounts.ts";
import { checkDriverName } from "../core/volume/volume-source-rules.ts";
import { goShape } from "../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusKeepingMetadata } from "../status-metadata.ts";
import { fieldImmutableMessage, invalidEach } from "../strategy.ts";

const v1 = structs("api/storage/v1");

const volumeAttachmentSource = v1(
  "VolumeAttachmentSource",
  "Volume that should be attached. Exactly one of the two fields must be set.",
  {
    persistentVolumeName: pointer(
      1,
      string,
      "Name of the PersistentVolume to attach. Mutually exclusive with inlineVolumeSpec.",
    ),
    inlineVolumeSpec: pointer(
      2,
      persistentVolumeSpec,
      "Specification of a volume that a pod defines inline, for in-tree volumes migrated to " +
        "CSI. Mutually exclusive with persistentVolumeName.",
    ),
  },
);

const volumeAttachmentSpec = v1(
  "VolumeAttachmentSpec",
  "Specification of an attach or detach request. Immutable.",
  {
    attacher: required(1, string, "Name of the CSI driver that must handle the request."),
    source: required(2, volumeAttachmentSource, "Volume to attach to the node."),
    nodeName: required(3, string, "Name of the node to which the volume should be attached."),
  },
);

const volumeError = v1("VolumeError", "Error encountered during a volume operation.", {
  time: value(1, time, "Time at which the error was encountered."),
  message: value(
    2,
    string,
    "Human-readable error message. It may be logged, and must not contain sensitive data.",
  ),
  errorCode: pointer(
    3,
    int32,
    "Numeric gRPC status code of the error. Beta, off by default: requires the feature gate " +
      "MutableCSINodeAllocatableCount.",
    {
      gate: "MutableCSINodeAllocatableCount",
    },
  ),
});

const volumeAttachmentStatus = v1(
  "VolumeAttachmentStatus",
  "Observed state of a VolumeAttachment.",
  {
    attached: required(
      1,
      bool,
      "Whether the volume was attached successfully. Set by the attacher only.",
    ),
    attachmentMetadata: value(
      2,
      map(string),
      "Information returned by the attach operation that mounting needs, such as a device path.",
    ),
    attachError: pointer(3, volumeError, "Last error of the attach operation. Cleared on success."),
    detachError: pointer(4, volumeError, "Last error of the detach operation."),
  },
);

const volumeAttachmentV1 = v1(
  "VolumeAttachment",
  "VolumeAttachment requests that a CSI driver attach a volume to a node, and detach it when " +
    "the object is deleted.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, volumeAttachmentSpec, "Volume, node and attacher."),
    status: value(
      3,
      volumeAttachmentStatus,
      "Result of the attach or detach operation, reported by the attacher. Read-only.",
    ),
  },
);

type VolumeAttachment = Infer<typeof volumeAttachmentV1>;

const path = Path.of("spec");
const maxMessageLength = 1024;
const maxMetadataBytes = 256 * 1024;
const errorCodeGate = "MutableCSINodeAllocatableCount";

function checkSource({ source }: VolumeAttachment["spec"], problems: Problems): void {
  const { persistentVolumeName: name, inlineVolumeSpec: spec } = source;
  const sourcePath = path.child("source");
  const detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
  if (name !== undefined && spec !== undefined) return problems.forbidden(sourcePath, detail);
  if (spec !== undefined) {
    checkVolumeSpec(spec, sourcePath.child("inlineVolumeSpec"), { inline: true, problems });
  } else if (name === undefined) problems.required(sourcePath, detail);
  else if (name === "") {
    const empty = "must specify non empty persistentVolumeName";
    problems.required(sourcePath.child("persistentVolumeName"), empty);
  }
}

function checkStatus({ status }: VolumeAttachment, problems: Problems): void {
  const statusPath = Path.of("status");
  const pairs = Object.entries(status.attachmentMetadata ?? {}).flat();
  const size = pairs.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (size > maxMetadataBytes) {
    problems.tooLong(statusPath.child("attachmentMetadata"), "", maxMetadataBytes);
  }
  for (const field of ["attachError", "detachError"] as const) {
    const message = status[field]?.message ?? "";
    if (Buffer.byteLength(message) <= maxMessageLength) continue;
    // The reported limit is that of the metadata, as in Kubernetes.
    problems.tooLong(statusPath.child(field, "message"), message, maxMetadataBytes);
  }
}

function validate(attachment: VolumeAttachment, problems: Problems): void {
  const { attacher, nodeName } = attachment.spec;
  if (attacher === "") problems.required(path.child("attacher"));
  checkSource(attachment.spec, problems);
  const messages = isDns1123Subdomain(nodeName);
  invalidEach(problems, path.child("nodeName"), { value: nodeName, messages });
  checkStatus(attachment, problems);
}

/** Validates rules of v1 that apply to new objects only. */
function validateNames({ spec }: VolumeAttachment, problems: Problems): void {
  checkDriverName(spec.attacher, path.child("attacher"), problems);
  const name = spec.source.persistentVolumeName;
  if (name === undefined) return;
  const persistentVolumeNamePath = path.child("source", "persistentVolumeName");
  invalidEach(problems, persistentVolumeNamePath, {
    value: name,
    messages: isDns1123Subdomain(name),
  });
}

const divided = splitByStatusKeepingMetadata(() => ({ attached: false }));

function prepareUpdate(
  attachment: VolumeAttachment,
  old: VolumeAttachment,
  context: HookContext,
): void {
  divided.prepareUpdate(attachment, old, context);
  if (context.subresource === "" || context.gate(errorCodeGate)) return;
  for (const field of ["attachError", "detachError"] as const) {
    if (old.status[field]?.errorCode === undefined) delete attachment.status[field]?.errorCode;
  }
}

export const volumeAttachment = kind(volumeAttachmentV1, {
  group: "storage.{api}",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  scope: "Cluster",
  versions: [{ version: "v1", struct: volumeAttachmentV1, onByDefault: true, convert: "hub" }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    metadataOnUpdate: { "": ["object", "object"] },
    unconditionalUpdate: false,
    deleteReturnsObject: true,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    ...divided,
    default: ({ spec }) => roundAmounts(spec.source.inlineVolumeSpec?.capacity),
    prepareUpdate,
    validate: (object, problems) => {
      validate(object, problems);
      validateNames(object, problems);
    },
    validateUpdate: (object, old, problems) => {
      // Kubernetes validates a changed attachment twice and reports each error twice.
      validate(object, problems);
      validate(object, problems);
      if (semanticEquality(volumeAttachmentSpec)(object.spec, old.spec)) return;
      problems.invalid(path, goShape(volumeAttachmentSpec, object.spec), fieldImmutableMessage);
    },
  },
  columns: [
    nameColumn,
    column("Attacher", "CSI driver that attaches the volume.", { format: "name" }),
    column("PV", "PersistentVolume to attach."),
    column("Node", "Node that the volume is attached to."),
    column("Attached", "Whether the volume is attached.", { type: "boolean" }),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.attacher,
    object.spec.source.persistentVolumeName ?? "",
    object.spec.nodeName,
    object.status.attached,
    ageOf(object, context),
  ],
});
