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
  mergedBy,
} from "#schema";
import { intOrString, labelSelector, objectMeta, time } from "#meta";
import { persistentVolumeClaimV1 } from "../core/persistent-volume/persistent-volume-claim.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";

const v1 = structs("api/apps/v1");

/** PersistentVolumeClaim as claim template, with apiVersion and kind in JSON only. */
const claimTemplate = structs("api/core/v1")(
  "PersistentVolumeClaim",
  persistentVolumeClaimV1.doc,
  {
    kind: value(0, string, "Kind of the template: PersistentVolumeClaim. May be omitted."),
    apiVersion: value(0, string, "API version of the template: v1. May be omitted."),
    ...persistentVolumeClaimV1.fields,
  },
  { kind: { group: "", version: "v1", kind: "PersistentVolumeClaim" } },
);

const rollingUpdate = v1(
  "RollingUpdateStatefulSetStrategy",
  "Parameters of a StatefulSet rolling update.",
  {
    partition: pointer(
      1,
      int32,
      "Partition ordinal: pods with this ordinal or a higher one are updated, those below keep " +
        "the old revision, even if recreated. Useful for canaries. Defaults to 0.",
    ),
    maxUnavailable: pointer(
      2,
      intOrString,
      "Maximum number of pods that may be unavailable during the update, as an absolute number " +
        "or a percentage of replicas, rounded up. Must not be 0. Defaults to 1. Alpha: " +
        "requires the feature gate MaxUnavailableStatefulSet.",
      { gate: "MaxUnavailableStatefulSet" },
    ),
  },
);

const updateStrategy = v1("StatefulSetUpdateStrategy", "Update strategy of a StatefulSet.", {
  type: value(
    1,
    named("v1.StatefulSetUpdateStrategyType", "RollingUpdate", "OnDelete"),
    "One of RollingUpdate (the controller replaces old pods in order, from the highest ordinal " +
      "to the lowest), OnDelete (an old pod is replaced only after it was deleted manually). " +
      "Defaults to RollingUpdate.",
  ),
  rollingUpdate: pointer(
    2,
    rollingUpdate,
    "Parameters of the rolling update. Only for type RollingUpdate.",
  ),
});

const retention = named("v1.PersistentVolumeClaimRetentionPolicyType", "Retain", "Delete");

const retentionPolicy = v1(
  "StatefulSetPersistentVolumeClaimRetentionPolicy",
  "Policy for the PersistentVolumeClaims created from volumeClaimTemplates.",
  {
    whenDeleted: value(
      1,
      retention,
      "Policy for the claims when the StatefulSet is deleted: one of Retain, Delete. Defaults " +
        "to Retain.",
      { openApi: { enum: false } },
    ),
    whenScaled: value(
      2,
      retention,
      "Policy for the claims of pods that are removed when the StatefulSet is scaled down: one " +
        "of Retain, Delete. Defaults to Retain.",
      { openApi: { enum: false } },
    ),
  },
);

const ordinals = v1("StatefulSetOrdinals", "Ordinal numbers of the pods of a StatefulSet.", {
  start: required(
    1,
    int32,
    "Ordinal of the first pod. Ordinals range up to start + replicas - 1. Must not be " +
      "negative. Defaults to 0.",
    { required: false },
  ),
});

const spec = v1("StatefulSetSpec", "Desired state of a StatefulSet.", {
  replicas: pointer(1, int32, "Desired number of pods. Defaults to 1.", { default: 1 }),
  selector: nullablePointer(
    2,
    labelSelector,
    "Label query over the pods that the StatefulSet manages. Required, and must match the " +
      "labels of the template. Immutable.",
  ),
  template: required(
    3,
    podTemplateSpec,
    "Template of the pods, which are named `<StatefulSet>-<ordinal>`. restartPolicy must be " +
      "Always.",
  ),
  volumeClaimTemplates: value(
    4,
    list(claimTemplate),
    "PersistentVolumeClaims to create for each pod, named `<template>-<pod>`. They take " +
      "precedence over volumes of the same name in the pod template. Immutable.",
    {
      listType: "atomic",
    },
  ),
  serviceName: required(
    5,
    string,
    "Name of the headless Service that governs the StatefulSet and provides the DNS names of " +
      "its pods. It should exist before the StatefulSet. Immutable.",
    {
      required: false,
    },
  ),
  podManagementPolicy: value(
    6,
    named("v1.PodManagementPolicyType", "OrderedReady", "Parallel"),
    "Policy for creating and scaling pods. One of OrderedReady (one pod at a time, in order of " +
      "ordinals, each ready before the next), Parallel (all at once). Does not affect updates. " +
      "Defaults to OrderedReady. Immutable.",
    { default: "OrderedReady" },
  ),
  updateStrategy: value(
    7,
    updateStrategy,
    "Strategy to replace existing pods when the template changes.",
  ),
  revisionHistoryLimit: pointer(
    8,
    int32,
    "Number of old ControllerRevisions to keep for rollbacks. Defaults to 10.",
    {
      default: 10,
    },
  ),
  minReadySeconds: value(
    9,
    int32,
    "Seconds for which a new pod must be ready, without any container crashing, to be " +
      "considered available. Defaults to 0.",
  ),
  persistentVolumeClaimRetentionPolicy: pointer(
    10,
    retentionPolicy,
    "Lifecycle of the PersistentVolumeClaims created from volumeClaimTemplates. By default, " +
      "they are kept.",
  ),
  ordinals: pointer(11, ordinals, "Numbering of the pods. By default, ordinals start at 0."),
});

const condition = v1("StatefulSetCondition", "One observed condition of a StatefulSet.", {
  type: required(
    1,
    named("v1.StatefulSetConditionType"),
    "Type of the condition. The built-in controller sets none.",
  ),
  status: required(
    2,
    named("v1.ConditionStatus"),
    "Status of the condition: one of True, False, Unknown.",
  ),
  lastTransitionTime: value(3, time, "Time at which `status` last changed to another value."),
  reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
  message: value(5, string, "Human-readable message with details about the last transition."),
});

const status = v1("StatefulSetStatus", "Observed state of a StatefulSet.", {
  observedGeneration: value(1, int64, "Value of metadata.generation that this status describes."),
  replicas: required(2, int32, "Number of pods that the StatefulSet manages."),
  readyReplicas: value(3, int32, "Number of pods with a Ready condition."),
  currentReplicas: value(4, int32, "Number of pods of the revision that currentRevision names."),
  updatedReplicas: value(5, int32, "Number of pods of the revision that updateRevision names."),
  currentRevision: value(
    6,
    string,
    "ControllerRevision from which pods are being updated. Equal to updateRevision once the " +
      "update is complete.",
  ),
  updateRevision: value(
    7,
    string,
    "ControllerRevision of the current template, to which pods are updated.",
  ),
  collisionCount: pointer(
    9,
    int32,
    "Number of hash collisions in names of ControllerRevisions, which the controller uses to " +
      "avoid more. Must not decrease.",
  ),
  conditions: value(
    10,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
  availableReplicas: required(
    11,
    int32,
    "Number of pods that have been ready for at least minReadySeconds.",
    {
      required: false,
    },
  ),
});

export const statefulSetV1 = v1(
  "StatefulSet",
  "StatefulSet manages pods with stable identities: name, ordinal, network identity and " +
    "storage persist across rescheduling.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Replica count, pod template, claim templates and update strategy."),
    status: value(
      3,
      status,
      "Pod counts and revisions reported by the StatefulSet controller. Read-only.",
    ),
  },
);
