import {
  dropGated,
  required,
  type Infer,
  int32,
  int64,
  list,
  named,
  nullablePointer,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  mergedBy,
} from "#schema";
import { type HookContext, kind, labelSelector, objectMeta, time } from "#meta";
import { defaultPodTemplate } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { nameWarnings } from "../core/pod/pod-warnings.ts";
import { containerCells } from "../core/pod-template.ts";
import { goSelector } from "../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, mustNotChange } from "../strategy.ts";
import {
  checkLongRunningTemplate,
  checkMatch,
  checkNotAbove,
  checkNotNegative,
  checkSelector,
  containersColumn,
  imagesColumn,
  scaleSubresource,
  selectorCell,
  selectorColumn,
  statusSubresource,
  templateWarnings,
} from "./workload.ts";

const v1 = structs("api/apps/v1");

const spec = v1("ReplicaSetSpec", "Desired state of a ReplicaSet.", {
  replicas: pointer(1, int32, "Desired number of pods. Defaults to 1.", { default: 1 }),
  minReadySeconds: value(
    4,
    int32,
    "Seconds for which a new pod must be ready, without any container crashing, to be " +
      "considered available. Defaults to 0.",
  ),
  selector: nullablePointer(
    2,
    labelSelector,
    "Label query over the pods that the ReplicaSet manages. Required, and must match the " +
      "labels of the template. Immutable.",
  ),
  template: value(
    3,
    podTemplateSpec,
    "Template for new pods. Changes do not affect existing pods. restartPolicy must be Always. " +
      "Required.",
  ),
});

const condition = v1("ReplicaSetCondition", "One observed condition of a ReplicaSet.", {
  type: required(
    1,
    named("v1.ReplicaSetConditionType", "ReplicaFailure"),
    "Type of the condition: ReplicaFailure (a pod could not be created or deleted).",
    { openApi: { enum: false } },
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

const status = v1("ReplicaSetStatus", "Observed state of a ReplicaSet.", {
  replicas: required(1, int32, "Number of non-terminating pods that the ReplicaSet manages."),
  fullyLabeledReplicas: value(
    2,
    int32,
    "Number of non-terminating pods whose labels match those of the template.",
  ),
  readyReplicas: value(4, int32, "Number of non-terminating pods whose Ready condition is True."),
  availableReplicas: value(
    5,
    int32,
    "Number of non-terminating pods that have been ready for at least minReadySeconds.",
  ),
  terminatingReplicas: pointer(
    7,
    int32,
    "Number of terminating pods: with a deletion timestamp, and not yet in phase Succeeded or " +
      "Failed. Alpha: requires the feature gate DeploymentReplicaSetTerminatingReplicas.",
    {
      gate: "DeploymentReplicaSetTerminatingReplicas",
    },
  ),
  observedGeneration: value(3, int64, "Value of metadata.generation that this status describes."),
  conditions: value(
    6,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
});

const replicaSetV1 = v1(
  "ReplicaSet",
  "ReplicaSet ensures that a given number of identical pods is running. Usually managed by a " +
    "Deployment.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Replica count, selector and pod template."),
    status: value(3, status, "Pod counts reported by the ReplicaSet controller. Read-only."),
  },
);

type ReplicaSet = Infer<typeof replicaSetV1>;

const path = Path.of("spec");

function validate({ spec: what }: ReplicaSet, problems: Problems, context: HookContext): void {
  const { replicas, minReadySeconds, selector, template } = what;
  checkNotNegative({ replicas, minReadySeconds }, path, problems);
  const isUsable = checkSelector(selector, {
    path: path.child("selector"),
    problems,
    kind: "deployment",
    invalidMessage: "invalid label selector",
  });
  if (!isUsable) return;
  const templatePath = path.child("template");
  checkMatch(selector, template, { path: templatePath, problems });
  checkLongRunningTemplate(template, templatePath, { kind: "ReplicaSet", problems, context });
}

function checkStatus({ status: now }: ReplicaSet, problems: Problems): void {
  const statusPath = Path.of("status");
  const { replicas, fullyLabeledReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = now;
  const counts = { fullyLabeledReplicas, readyReplicas, availableReplicas };
  const { terminatingReplicas, observedGeneration } = now;
  checkNotNegative({ replicas, ...counts, terminatingReplicas }, statusPath, problems);
  checkNotNegative({ observedGeneration }, statusPath, problems);
  const limit = { name: "status.replicas", value: replicas };
  checkNotAbove(counts, { path: statusPath, problems, limit });
  const ready = { name: "readyReplicas", value: readyReplicas };
  checkNotAbove({ availableReplicas }, { path: statusPath, problems, limit: ready });
}

const divided = splitByStatusSubresource(() => ({ replicas: 0 }));

export const replicaSet = kind(replicaSetV1, {
  group: "apps",
  kind: "ReplicaSet",
  plural: "replicasets",
  shortNames: ["rs"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: replicaSetV1, onByDefault: true, convert: "hub" }],
  subresources: [scaleSubresource, statusSubresource],
  rules: { generation: true },
  hooks: {
    default: ({ spec: { template } }, { gate }) => defaultPodTemplate(template, gate),
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGatedPodFields(object.spec.template.spec, undefined, context.gate);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGated(status, object.status, { old: old.status, isOn: context.gate });
      dropGatedPodFields(object.spec.template.spec, old.spec.template.spec, context.gate);
    },
    validate,
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") return checkStatus(object, problems);
      validate(object, problems, context);
      const { selector: now } = object.spec;
      const selectors = {
        now,
        before: old.spec.selector,
        shown: goSelector(now),
        type: labelSelector,
      };
      mustNotChange(problems, path.child("selector"), selectors);
    },
    warnings: (object, old, context) => [
      ...(old === undefined ? nameWarnings(object) : []),
      ...templateWarnings(object.spec.template, path.child("template"), { object, old, context }),
    ],
  },
  columns: [
    nameColumn,
    column("Desired", "Desired number of pods.", { type: "integer" }),
    column("Current", "Pods that exist.", { type: "integer" }),
    column("Ready", "Pods that are ready.", { type: "integer" }),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.replicas ?? 0,
    object.status.replicas,
    object.status.readyReplicas ?? 0,
    ageOf(object, context),
    ...containerCells(object.spec.template),
    selectorCell(object.spec.selector),
  ],
});
