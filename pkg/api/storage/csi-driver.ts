import { deepEqual } from "#base";
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
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange, repeatedPlaces, unsupported } from "../strategy.ts";

const v1 = structs("api/storage/v1");

const tokenRequest = v1("TokenRequest", "A service account token that the driver gets for a pod.", {
  audience: required(1, string, "Whom the token is for; empty means the API server."),
  expirationSeconds: pointer(2, int64, "Seconds that the token is good for."),
});

const csiDriverSpec = v1("CSIDriverSpec", "What a driver can do and wants.", {
  attachRequired: pointer(1, bool, "Whether volumes must be attached before they are mounted.", {
    default: true,
  }),
  podInfoOnMount: pointer(2, bool, "Whether the driver is told about the pod when it mounts.", {
    default: false,
  }),
  volumeLifecycleModes: value(
    3,
    list(named("v1.VolumeLifecycleMode", "Persistent", "Ephemeral")),
    "Kinds of volumes: Persistent, Ephemeral.",
    { default: ["Persistent"], listType: "set" },
  ),
  storageCapacity: pointer(4, bool, "Whether free capacity counts when pods are placed.", {
    default: false,
    gate: "CSIStorageCapacity",
  }),
  fsGroupPolicy: pointer(
    5,
    named("v1.FSGroupPolicy", "ReadWriteOnceWithFSType", "File", "None"),
    "Whether ownership and permissions of volumes are changed.",
    { default: "ReadWriteOnceWithFSType" },
  ),
  tokenRequests: value(6, list(tokenRequest), "Tokens of the pod that the driver gets.", {
    listType: "atomic",
  }),
  requiresRepublish: pointer(
    7,
    bool,
    "Whether mounted volumes are offered to the driver again and again.",
    { default: false },
  ),
  seLinuxMount: pointer(8, bool, "Whether volumes can be mounted with an SELinux context.", {
    default: false,
    gate: "SELinuxMountReadWriteOncePod",
  }),
  nodeAllocatableUpdatePeriodSeconds: pointer(
    9,
    int64,
    "Seconds between updates of what the driver can do on a node.",
    { gate: "MutableCSINodeAllocatableCount" },
  ),
});

const csiDriverV1 = v1("CSIDriver", "A storage driver of the cluster; named like the driver.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: required(2, csiDriverSpec, "What the driver can do and wants."),
});

type CSIDriver = Infer<typeof csiDriverV1>;

const LONGEST_NAME = 63;
const SHORTEST_TOKEN = 10 * 60;
const LONGEST_TOKEN = 2 ** 32;
const UPDATE_GATE = "MutableCSINodeAllocatableCount";

/** In the order in which messages list them. */
const lifecycleModes = ["Persistent", "Ephemeral"];
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];

function checkTokenRequests({ spec }: CSIDriver, problems: Problems): void {
  const requests = spec.tokenRequests ?? [];
  const repeated = repeatedPlaces(requests, ({ audience }) => audience);
  for (const [index, { audience, expirationSeconds: seconds }] of requests.entries()) {
    const path = Path.of("spec.tokenRequests").index(index);
    if (repeated.has(index)) {
      problems.duplicate(path.child("audience"), audience);
      continue;
    }
    if (seconds === undefined) continue;
    const place = path.child("expirationSeconds");
    if (seconds < SHORTEST_TOKEN) {
      problems.invalid(place, seconds, "may not specify a duration less than 10 minutes");
    }
    if (seconds > LONGEST_TOKEN) {
      problems.invalid(place, seconds, "may not specify a duration larger than 2^32 seconds");
    }
  }
}

function validate(object: CSIDriver, problems: Problems): void {
  const { name = "" } = object.metadata;
  if (name.length > LONGEST_NAME) problems.tooLong(Path.of("metadata.name"), name, LONGEST_NAME);
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
}

function dropGated(object: CSIDriver, old: CSIDriver | undefined, context: HookContext): void {
  if (context.gate(UPDATE_GATE)) return;
  if (old?.spec.nodeAllocatableUpdatePeriodSeconds !== undefined) return;
  delete object.spec.nodeAllocatableUpdatePeriodSeconds;
}

/** The generation counts changes of the spec from zero. */
function moveGeneration({ metadata, spec }: CSIDriver, old: CSIDriver): void {
  const generation = Number(old.metadata.generation ?? 0) + (deepEqual(spec, old.spec) ? 0 : 1);
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
      const modes = { now: spec.volumeLifecycleModes, before: old.spec.volumeLifecycleModes };
      mustNotChange(problems, Path.of("spec.volumeLifecycleModes"), modes);
    },
  },
  columns: [
    nameColumn,
    column("AttachRequired", "Whether volumes must be attached.", { type: "boolean" }),
    column("PodInfoOnMount", "Whether the driver is told about the pod.", { type: "boolean" }),
    column("StorageCapacity", "Whether free capacity counts.", { type: "boolean" }),
    column("TokenRequests", "Audiences of the tokens that the driver gets."),
    column("RequiresRepublish", "Whether volumes are offered again.", { type: "boolean" }),
    column("Modes", "Kinds of volumes."),
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
