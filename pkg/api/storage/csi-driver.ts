import {
  required,
  bool,
  type Infer,
  int64,
  list,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { type HookContext, kind, objectMeta } from "#meta";
import { checkTokenExpiration } from "../core/shared/token-expiration.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange, duplicateIndexes, unsupported, isSameField } from "../strategy.ts";

const v1 = structs("api/storage/v1");

const tokenRequest = v1(
  "TokenRequest",
  "Parameters of a ServiceAccount token that the kubelet passes to a CSI driver.",
  {
    audience: required(
      1,
      string,
      "Intended audience of the token. Empty stands for the audiences of the API server. Must " +
        "be unique within the list.",
    ),
    expirationSeconds: pointer(
      2,
      int64,
      "Lifetime of the token, in seconds: 600 to 4294967296. Defaults to 3600.",
    ),
  },
);

const csiDriverSpec = v1(
  "CSIDriverSpec",
  "Behavior of a CSI driver and the features that it requests from Kubernetes.",
  {
    attachRequired: pointer(
      1,
      bool,
      "Whether volumes have to be attached (ControllerPublishVolume) before they are mounted, " +
        "through a VolumeAttachment. Defaults to true. Immutable.",
      {
        default: true,
      },
    ),
    podInfoOnMount: pointer(
      2,
      bool,
      "Whether the kubelet passes name, namespace, UID and ServiceAccount of the pod in " +
        "NodePublishVolume. Defaults to false.",
      {
        default: false,
      },
    ),
    volumeLifecycleModes: value(
      3,
      list(named("v1.VolumeLifecycleMode", "Persistent", "Ephemeral")),
      "Volume lifecycle modes that the driver supports: Persistent (PersistentVolumes), " +
        "Ephemeral (inline volumes of pods). Defaults to Persistent. Immutable.",
      { default: ["Persistent"], listType: "set", openApi: { enum: false } },
    ),
    storageCapacity: pointer(
      4,
      bool,
      "Whether the scheduler considers the storage capacity that the driver reports in " +
        "CSIStorageCapacity objects, for volumes with delayed binding. Defaults to false.",
      { default: false },
    ),
    fsGroupPolicy: pointer(
      5,
      named("v1.FSGroupPolicy", "ReadWriteOnceWithFSType", "File", "None"),
      "When the kubelet applies fsGroup to volumes. One of ReadWriteOnceWithFSType (only if " +
        "fsType is set and the access modes include ReadWriteOnce), File (always), None " +
        "(never). Defaults to ReadWriteOnceWithFSType.",
      { default: "ReadWriteOnceWithFSType", openApi: { enum: false } },
    ),
    tokenRequests: value(
      6,
      list(tokenRequest),
      "ServiceAccount tokens of the pod that the kubelet passes in NodePublishVolume, one per " +
        "audience. Set requiresRepublish to have them renewed.",
      {
        listType: "atomic",
      },
    ),
    requiresRepublish: pointer(
      7,
      bool,
      "Whether the kubelet calls NodePublishVolume periodically, for the driver to refresh the " +
        "content of mounted volumes. Defaults to false.",
      { default: false },
    ),
    seLinuxMount: pointer(
      8,
      bool,
      "Whether the driver supports mounting with the SELinux option `-o context`. Defaults " +
        "to false. Beta: feature gate SELinuxMountReadWriteOncePod.",
      {
        default: false,
        gate: "SELinuxMountReadWriteOncePod",
      },
    ),
    nodeAllocatableUpdatePeriodSeconds: pointer(
      9,
      int64,
      "Seconds between updates of the allocatable volume count in CSINode, at least 10. If " +
        "absent, it is not updated. Beta, off by default: requires the feature gate " +
        "MutableCSINodeAllocatableCount.",
      { gate: "MutableCSINodeAllocatableCount" },
    ),
  },
);

const csiDriverV1 = v1(
  "CSIDriver",
  "CSIDriver describes a Container Storage Interface (CSI) driver that is deployed in the " +
    "cluster, and how Kubernetes interacts with it.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The name is that of the driver, at most 63 characters.",
    ),
    spec: required(2, csiDriverSpec, "Behavior of the driver and features that it requests."),
  },
);

type CSIDriver = Infer<typeof csiDriverV1>;

const maxNameLength = 63;
/** Minimum of nodeAllocatableUpdatePeriodSeconds. */
const minUpdatePeriodSeconds = 10;
const updateGate = "MutableCSINodeAllocatableCount";

/** In the order in which messages list them. */
const lifecycleModes = ["Persistent", "Ephemeral"];
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];

function checkTokenRequests({ spec }: CSIDriver, problems: Problems): void {
  const requests = spec.tokenRequests ?? [];
  const repeated = duplicateIndexes(requests, ({ audience }) => audience);
  for (const [index, { audience, expirationSeconds: seconds }] of requests.entries()) {
    const path = Path.of("spec.tokenRequests").index(index);
    if (repeated.has(index)) {
      problems.duplicate(path.child("audience"), audience);
      continue;
    }
    if (seconds === undefined) continue;
    checkTokenExpiration(seconds, path.child("expirationSeconds"), problems);
  }
}

function validate(object: CSIDriver, problems: Problems): void {
  const { name = "" } = object.metadata;
  if (name.length > maxNameLength) problems.tooLong(Path.of("metadata.name"), name, maxNameLength);
  const { fsGroupPolicy, volumeLifecycleModes = [] } = object.spec;
  if (fsGroupPolicy !== undefined && !groupPolicies.includes(fsGroupPolicy)) {
    problems.notSupported(Path.of("spec.fsGroupPolicy"), fsGroupPolicy, groupPolicies);
  }
  checkTokenRequests(object, problems);
  const path = Path.of("spec.volumeLifecycleModes");
  for (const mode of volumeLifecycleModes) {
    if (lifecycleModes.includes(mode)) continue;
    unsupported(problems, path, { value: mode, supported: lifecycleModes });
  }
  const { nodeAllocatableUpdatePeriodSeconds: period } = object.spec;
  if (period === undefined || period >= minUpdatePeriodSeconds) return;
  const detail = `must be greater than or equal to ${minUpdatePeriodSeconds} seconds`;
  problems.invalid(Path.of("spec.nodeAllocatableUpdatePeriodSeconds"), period, detail);
}

function dropGated(object: CSIDriver, old: CSIDriver | undefined, context: HookContext): void {
  if (context.gate(updateGate)) return;
  if (old?.spec.nodeAllocatableUpdatePeriodSeconds !== undefined) return;
  delete object.spec.nodeAllocatableUpdatePeriodSeconds;
}

/** Increments the generation if the spec changes; new objects start at 0. */
function moveGeneration(driver: CSIDriver, old: CSIDriver): void {
  const { metadata } = driver;
  const generation =
    Number(old.metadata.generation ?? 0) +
    (isSameField(csiDriverV1, "spec", [driver, old]) ? 0 : 1);
  if (generation > 0) metadata.generation = generation;
  else delete metadata.generation;
}

export const csiDriver = kind(csiDriverV1, {
  group: "storage.{api}",
  kind: "CSIDriver",
  plural: "csidrivers",
  scope: "Cluster",
  versions: [{ version: "v1", struct: csiDriverV1, onByDefault: true, convert: "hub" }],
  rules: { unconditionalUpdate: false, deleteReturnsObject: true },
  hooks: {
    prepareCreate: (object, context) => dropGated(object, undefined, context),
    prepareUpdate: (object, old, context) => {
      dropGated(object, old, context);
      moveGeneration(object, old);
    },
    validate,
    validateUpdate: ({ metadata, spec }, old, problems) => {
      validate({ metadata, spec }, problems);
      const attach = { now: spec.attachRequired, before: old.spec.attachRequired };
      mustNotChange(problems, Path.of("spec.attachedRequired"), attach);
      const modes = {
        now: spec.volumeLifecycleModes ?? [],
        before: old.spec.volumeLifecycleModes ?? [],
        shown: spec.volumeLifecycleModes,
      };
      mustNotChange(problems, Path.of("spec.volumeLifecycleModes"), modes);
    },
  },
  columns: [
    nameColumn,
    column("AttachRequired", "Whether volumes must be attached before they are mounted.", {
      type: "boolean",
    }),
    column("PodInfoOnMount", "Whether the driver receives pod information on mounts.", {
      type: "boolean",
    }),
    column("StorageCapacity", "Whether the scheduler considers the free capacity.", {
      type: "boolean",
    }),
    column("TokenRequests", "Audiences of the service account tokens for the driver."),
    column("RequiresRepublish", "Whether mounted volumes are republished periodically.", {
      type: "boolean",
    }),
    column("Modes", "Supported volume lifecycle modes."),
    ageColumn,
  ],
  row: (object, context) => {
    const { spec } = object;
    const audiences = spec.tokenRequests?.map(({ audience }) => audience);
    return [
      nameOf(object),
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      audiences?.join(",") ?? "<unset>",
      spec.requiresRepublish ?? false,
      spec.volumeLifecycleModes?.join(",") ?? "<none>",
      ageOf(object, context),
    ];
  },
});
