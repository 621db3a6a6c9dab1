import {
  required,
  int32,
  int64,
  list,
  named,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { intOrString, labelSelector, objectMeta, time } from "#meta";
import { persistentVolumeClaimV1 } from "../core/persistent-volume/persistent-volume-claim.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { byType } from "./workload.ts";

const v1 = structs("api/apps/v1");

/** Claims say what they are even though nothing else could stand there; in JSON alone. */
const claimTemplate = structs("api/core/v1")("PersistentVolumeClaim", persistentVolumeClaimV1.doc, {
  kind: value(0, string, "PersistentVolumeClaim."),
  apiVersion: value(0, string, "v1."),
  ...persistentVolumeClaimV1.fields,
});

const rollingUpdate = v1("RollingUpdateStatefulSetStrategy", "How pods are replaced.", {
  partition: pointer(1, int32, "Ordinal from which on pods are replaced."),
  maxUnavailable: pointer(
    2,
    intOrString,
    "How many may be missing meanwhile, as a number or percentage.",
    { gate: "MaxUnavailableStatefulSet" },
  ),
});

const updateStrategy = v1("StatefulSetUpdateStrategy", "How pods are replaced by new ones.", {
  type: value(
    1,
    named("v1.StatefulSetUpdateStrategyType", "RollingUpdate", "OnDelete"),
    "RollingUpdate, or OnDelete: when someone deletes them.",
  ),
  rollingUpdate: pointer(2, rollingUpdate, "How pods are replaced."),
});

const retention = named("v1.PersistentVolumeClaimRetentionPolicyType", "Retain", "Delete");

const retentionPolicy = v1(
  "StatefulSetPersistentVolumeClaimRetentionPolicy",
  "What becomes of claims that are no longer needed.",
  {
    whenDeleted: value(1, retention, "When the set is deleted: Retain or Delete."),
    whenScaled: value(2, retention, "When the set grows smaller: Retain or Delete."),
  },
);

const ordinals = v1("StatefulSetOrdinals", "How pods are numbered.", {
  start: required(1, int32, "Number of the first pod.", { required: false }),
});

const spec = v1("StatefulSetSpec", "Which pods, and how many.", {
  replicas: pointer(1, int32, "How many pods there shall be.", { default: 1 }),
  selector: nullablePointer(2, labelSelector, "Selects the pods; fixed."),
  template: required(3, podTemplateSpec, "The pods to be made."),
  volumeClaimTemplates: value(4, list(claimTemplate), "Claims that each pod gets of its own.", {
    listType: "atomic",
  }),
  serviceName: required(5, string, "Service that gives the pods their names in DNS.", {
    required: false,
  }),
  podManagementPolicy: value(
    6,
    named("v1.PodManagementPolicyType", "OrderedReady", "Parallel"),
    "Whether pods are made and ended one after another (OrderedReady) or at once (Parallel).",
    { default: "OrderedReady" },
  ),
  updateStrategy: value(7, updateStrategy, "How pods are replaced by new ones."),
  revisionHistoryLimit: pointer(8, int32, "How many revisions to keep for going back.", {
    default: 10,
  }),
  minReadySeconds: value(9, int32, "Seconds that a new pod must be ready to count as available."),
  persistentVolumeClaimRetentionPolicy: pointer(
    10,
    retentionPolicy,
    "What becomes of claims that are no longer needed.",
  ),
  ordinals: pointer(11, ordinals, "How pods are numbered."),
});

const condition = v1("StatefulSetCondition", "One thing that holds or does not.", {
  type: required(1, string, "What it is about."),
  status: required(2, string, "True, False or Unknown."),
  lastTransitionTime: value(3, time, "When the status last changed."),
  reason: value(4, string, "Why, in one word for machines."),
  message: value(5, string, "Why, in words."),
});

const status = v1("StatefulSetStatus", "How many pods there are.", {
  observedGeneration: value(1, int64, "Generation that the numbers are about."),
  replicas: required(2, int32, "All pods."),
  readyReplicas: value(3, int32, "Those that are ready."),
  currentReplicas: value(4, int32, "Those of the revision `currentRevision`."),
  updatedReplicas: value(5, int32, "Those of the revision `updateRevision`."),
  currentRevision: value(6, string, "Revision of the pods up to currentReplicas."),
  updateRevision: value(7, string, "Revision of the pods beyond."),
  collisionCount: pointer(9, int32, "How often the name of a revision was taken."),
  conditions: value(10, list(condition), "What holds.", byType),
  availableReplicas: required(11, int32, "Those that have been ready for minReadySeconds.", {
    required: false,
  }),
});

export const statefulSetV1 = v1(
  "StatefulSet",
  "Keeps pods running that have names and storage of their own.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Which pods, and how many."),
    status: value(3, status, "How many pods there are."),
  },
);
