import {
  always,
  int32,
  int64,
  list,
  named,
  nullable,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { intOrString, labelSelector, objectMeta, time } from "#meta";
import { persistentVolumeClaimV1 } from "../core/persistent-volume-claim.ts";
import { podTemplateSpec } from "../core/pod-spec.ts";
import { byType } from "./workload.ts";

const v1 = structs("api/apps/v1");

/** Claims say what they are even though nothing else could stand there; in JSON alone. */
const claimTemplate = structs("api/core/v1")("PersistentVolumeClaim", persistentVolumeClaimV1.doc, {
  kind: plain(0, string, "PersistentVolumeClaim."),
  apiVersion: plain(0, string, "v1."),
  ...persistentVolumeClaimV1.fields,
});

const rollingUpdate = v1("RollingUpdateStatefulSetStrategy", "How pods are replaced.", {
  partition: optional(1, int32, "Ordinal from which on pods are replaced."),
  maxUnavailable: optional(
    2,
    intOrString,
    "How many may be missing meanwhile, as a number or percentage.",
    { gate: "MaxUnavailableStatefulSet" },
  ),
});

const updateStrategy = v1("StatefulSetUpdateStrategy", "How pods are replaced by new ones.", {
  type: plain(
    1,
    named("v1.StatefulSetUpdateStrategyType", "RollingUpdate", "OnDelete"),
    "RollingUpdate, or OnDelete: when someone deletes them.",
  ),
  rollingUpdate: optional(2, rollingUpdate, "How pods are replaced."),
});

const retention = named("v1.PersistentVolumeClaimRetentionPolicyType", "Retain", "Delete");

const retentionPolicy = v1(
  "StatefulSetPersistentVolumeClaimRetentionPolicy",
  "What becomes of claims that are no longer needed.",
  {
    whenDeleted: plain(1, retention, "When the set is deleted: Retain or Delete."),
    whenScaled: plain(2, retention, "When the set grows smaller: Retain or Delete."),
  },
);

const ordinals = v1("StatefulSetOrdinals", "How pods are numbered.", {
  start: always(1, int32, "Number of the first pod.", { required: false }),
});

const spec = v1("StatefulSetSpec", "Which pods, and how many.", {
  replicas: optional(1, int32, "How many pods there shall be.", { default: 1 }),
  selector: nullable(2, labelSelector, "Selects the pods; fixed."),
  template: always(3, podTemplateSpec, "The pods to be made."),
  volumeClaimTemplates: plain(4, list(claimTemplate), "Claims that each pod gets of its own.", {
    listType: "atomic",
  }),
  serviceName: always(5, string, "Service that gives the pods their names in DNS.", {
    required: false,
  }),
  podManagementPolicy: plain(
    6,
    named("v1.PodManagementPolicyType", "OrderedReady", "Parallel"),
    "Whether pods are made and ended one after another (OrderedReady) or at once (Parallel).",
    { default: "OrderedReady" },
  ),
  updateStrategy: plain(7, updateStrategy, "How pods are replaced by new ones."),
  revisionHistoryLimit: optional(8, int32, "How many revisions to keep for going back.", {
    default: 10,
  }),
  minReadySeconds: plain(9, int32, "Seconds that a new pod must be ready to count as available."),
  persistentVolumeClaimRetentionPolicy: optional(
    10,
    retentionPolicy,
    "What becomes of claims that are no longer needed.",
  ),
  ordinals: optional(11, ordinals, "How pods are numbered."),
});

const condition = v1("StatefulSetCondition", "One thing that holds or does not.", {
  type: always(1, string, "What it is about."),
  status: always(2, string, "True, False or Unknown."),
  lastTransitionTime: plain(3, time, "When the status last changed."),
  reason: plain(4, string, "Why, in one word for machines."),
  message: plain(5, string, "Why, in words."),
});

const status = v1("StatefulSetStatus", "How many pods there are.", {
  observedGeneration: plain(1, int64, "Generation that the numbers are about."),
  replicas: always(2, int32, "All pods."),
  readyReplicas: plain(3, int32, "Those that are ready."),
  currentReplicas: plain(4, int32, "Those of the revision `currentRevision`."),
  updatedReplicas: plain(5, int32, "Those of the revision `updateRevision`."),
  currentRevision: plain(6, string, "Revision of the pods up to currentReplicas."),
  updateRevision: plain(7, string, "Revision of the pods beyond."),
  collisionCount: optional(9, int32, "How often the name of a revision was taken."),
  conditions: plain(10, list(condition), "What holds.", byType),
  availableReplicas: always(11, int32, "Those that have been ready for minReadySeconds.", {
    required: false,
  }),
});

export const statefulSetV1 = v1(
  "StatefulSet",
  "Keeps pods running that have names and storage of their own.",
  {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: plain(2, spec, "Which pods, and how many."),
    status: plain(3, status, "How many pods there are."),
  },
);
