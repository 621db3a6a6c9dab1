import { deepEqual } from "#base";
import {
  dropGated,
  required,
  bool,
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
import { type HookContext, intOrString, kind, labelSelector, objectMeta, time } from "#meta";
import { defaultPodTemplate } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { nameWarnings } from "../core/pod/pod-warnings.ts";
import { containerCells } from "../core/pod-template.ts";
import { goSelector } from "../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, mustNotChange } from "../strategy.ts";
import {
  checkAtMostAll,
  checkCollisions,
  checkLongRunningTemplate,
  checkMatch,
  checkNotAbove,
  checkNotNegative,
  checkSelector,
  checkIntOrPercent,
  containersColumn,
  imagesColumn,
  scaleSubresource,
  selectorCell,
  selectorColumn,
  intOrPercentValue,
  statusSubresource,
  templateWarnings,
} from "./workload.ts";

const v1 = structs("api/apps/v1");

const rollingUpdate = v1(
  "RollingUpdateDeployment",
  "Parameters of a Deployment rolling update. maxUnavailable and maxSurge must not both be 0.",
  {
    maxUnavailable: pointer(
      1,
      intOrString,
      "Maximum number of pods that may be unavailable during the update, as an absolute number " +
        "or a percentage of replicas, rounded down. At most 100%. If maxSurge resolves to 0 as " +
        "well, 1 is used. Defaults to 25%.",
    ),
    maxSurge: pointer(
      2,
      intOrString,
      "Maximum number of pods that may be created in excess of replicas during the update, as " +
        "an absolute number or a percentage of replicas, rounded up. Defaults to 25%.",
    ),
  },
);

const strategy = v1("DeploymentStrategy", "Update strategy of a Deployment.", {
  type: value(
    1,
    named("v1.DeploymentStrategyType", "Recreate", "RollingUpdate"),
    "One of RollingUpdate (replaces old pods by new ones gradually), Recreate (terminates all " +
      "old pods before creating new ones). Defaults to RollingUpdate.",
    { default: "RollingUpdate" },
  ),
  rollingUpdate: pointer(
    2,
    rollingUpdate,
    "Parameters of the rolling update. Must be unset for type Recreate.",
  ),
});

const spec = v1("DeploymentSpec", "Desired state of a Deployment.", {
  replicas: pointer(
    1,
    int32,
    "Desired number of pods. Leave it unset when a HorizontalPodAutoscaler manages it. " +
      "Defaults to 1.",
    { default: 1 },
  ),
  selector: nullablePointer(
    2,
    labelSelector,
    "Label query over the pods that the Deployment manages. Required, must match the labels of " +
      "the template, and must not overlap with that of another controller. Immutable.",
  ),
  template: required(
    3,
    podTemplateSpec,
    "Template of the pods. A change of it triggers a rollout. restartPolicy must be Always.",
  ),
  strategy: value(4, strategy, "Strategy to replace existing pods when the template changes.", {
    patchStrategy: ["retainKeys"],
  }),
  minReadySeconds: value(
    5,
    int32,
    "Seconds for which a new pod must be ready, without any container crashing, to be " +
      "considered available. Must be less than progressDeadlineSeconds. Defaults to 0.",
  ),
  revisionHistoryLimit: pointer(
    6,
    int32,
    "Number of old ReplicaSets to keep for rollbacks. With 0, rollbacks are not possible. " +
      "Defaults to 10.",
    {
      default: 10,
    },
  ),
  paused: value(
    7,
    bool,
    "Whether the Deployment is paused: changes of the template then trigger no rollout, while " +
      "scaling still works. Defaults to false.",
  ),
  progressDeadlineSeconds: pointer(
    9,
    int32,
    "Seconds without progress after which a rollout is considered failed: condition " +
      "Progressing becomes False with reason ProgressDeadlineExceeded. Must be greater than " +
      "minReadySeconds. Not counted while paused. Defaults to 600.",
    { default: 600 },
  ),
});

const condition = v1("DeploymentCondition", "One observed condition of a Deployment.", {
  type: required(
    1,
    named("v1.DeploymentConditionType", "Available", "Progressing", "ReplicaFailure"),
    "Type of the condition: Available (the minimum number of pods is available), Progressing " +
      "(a rollout progresses or is complete), ReplicaFailure (pods cannot be created or " +
      "deleted).",
    { openApi: { enum: false } },
  ),
  status: required(
    2,
    named("v1.ConditionStatus"),
    "Status of the condition: one of True, False, Unknown.",
  ),
  lastUpdateTime: value(6, time, "Time at which the condition was last updated."),
  lastTransitionTime: value(7, time, "Time at which `status` last changed to another value."),
  reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
  message: value(5, string, "Human-readable message with details about the last transition."),
});

const status = v1("DeploymentStatus", "Observed state of a Deployment.", {
  observedGeneration: value(1, int64, "Value of metadata.generation that this status describes."),
  replicas: value(2, int32, "Number of non-terminating pods that match the selector."),
  updatedReplicas: value(3, int32, "Number of non-terminating pods of the current template."),
  readyReplicas: value(7, int32, "Number of non-terminating pods whose Ready condition is True."),
  availableReplicas: value(
    4,
    int32,
    "Number of non-terminating pods that have been ready for at least minReadySeconds.",
  ),
  unavailableReplicas: value(
    5,
    int32,
    "Number of pods that are missing for full availability: not yet available, or not yet created.",
  ),
  terminatingReplicas: pointer(
    9,
    int32,
    "Number of terminating pods: with a deletion timestamp, and not yet in phase Succeeded or " +
      "Failed. Alpha: requires the feature gate DeploymentReplicaSetTerminatingReplicas.",
    {
      gate: "DeploymentReplicaSetTerminatingReplicas",
    },
  ),
  conditions: value(
    6,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
  collisionCount: pointer(
    8,
    int32,
    "Number of hash collisions in names of ReplicaSets, which the controller uses to avoid " +
      "more. Must not decrease.",
  ),
});

const deploymentV1 = v1(
  "Deployment",
  "Deployment enables declarative updates of pods: it manages them through ReplicaSets and " +
    "rolls out changes of their template.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Replica count, pod template and rollout strategy."),
    status: value(
      3,
      status,
      "Pod counts and rollout progress reported by the Deployment controller. Read-only.",
    ),
  },
);

type Deployment = Infer<typeof deploymentV1>;
type Spec = Deployment["spec"];

function fillDefaults({ spec }: Deployment, { gate }: HookContext): void {
  const { strategy: how, template } = spec;
  defaultPodTemplate(template, gate);
  if (how.type !== "RollingUpdate") return;
  how.rollingUpdate ??= {};
  how.rollingUpdate.maxUnavailable ??= "25%";
  how.rollingUpdate.maxSurge ??= "25%";
}

const path = Path.of("spec");

function validate(object: Deployment, problems: Problems, context: HookContext): void {
  const { replicas, minReadySeconds, revisionHistoryLimit, selector, template } = object.spec;
  checkNotNegative({ replicas }, path, problems);
  const isUsable = checkSelector(selector, {
    path: path.child("selector"),
    problems,
    kind: "deployment",
    invalidMessage: "invalid label selector",
  });
  if (isUsable) {
    const templatePath = path.child("template");
    checkMatch(selector, template, { path: templatePath, problems });
    checkLongRunningTemplate(template, templatePath, { kind: "ReplicaSet", problems, context });
  }
  checkStrategy(object.spec, problems);
  checkNotNegative({ minReadySeconds, revisionHistoryLimit }, path, problems);
  checkDeadline(object.spec, problems);
}

function checkStrategy({ strategy: how }: Spec, problems: Problems): void {
  const strategyPath = path.child("strategy");
  const rolling = strategyPath.child("rollingUpdate");
  const types = ["Recreate", "RollingUpdate"];
  if (!types.includes(how.type ?? "")) {
    // Reported with the field names of Go's struct, as in Kubernetes.
    const goStrategy = { Type: how.type ?? "", RollingUpdate: goRollingUpdate(how.rollingUpdate) };
    problems.notSupported(strategyPath, goStrategy, types);
  } else if (how.type === "Recreate") {
    if (how.rollingUpdate === undefined) return;
    problems.forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'");
  } else checkRollingUpdate(how.rollingUpdate ?? {}, rolling, problems);
}

type RollingUpdate = NonNullable<Spec["strategy"]["rollingUpdate"]>;

function goRollingUpdate(update: RollingUpdate | undefined): unknown {
  if (update === undefined) return null;
  return { MaxUnavailable: update.maxUnavailable ?? 0, MaxSurge: update.maxSurge ?? 0 };
}

function checkRollingUpdate(update: RollingUpdate, path: Path, problems: Problems): void {
  const { maxUnavailable, maxSurge } = update;
  const missing = path.child("maxUnavailable");
  checkIntOrPercent(maxUnavailable, missing, problems);
  checkIntOrPercent(maxSurge, path.child("maxSurge"), problems);
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    problems.invalid(missing, maxUnavailable, "may not be 0 when `maxSurge` is 0");
  }
  checkAtMostAll(maxUnavailable, missing, problems);
}

function checkDeadline(what: Spec, problems: Problems): void {
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = what;
  if (deadline === undefined) return;
  checkNotNegative({ progressDeadlineSeconds: deadline }, path, problems);
  if (deadline > minReadySeconds) return;
  const progressDeadlineSecondsPath = path.child("progressDeadlineSeconds");
  problems.invalid(progressDeadlineSecondsPath, deadline, "must be greater than minReadySeconds");
}

function checkStatus({ status: now }: Deployment, before: Deployment, problems: Problems): void {
  const statusPath = Path.of("status");
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = now;
  const { observedGeneration, unavailableReplicas, terminatingReplicas, collisionCount } = now;
  checkNotNegative({ observedGeneration }, statusPath, problems);
  const counts = { updatedReplicas, readyReplicas, availableReplicas };
  checkNotNegative({ replicas, ...counts, unavailableReplicas }, statusPath, problems);
  checkNotNegative({ terminatingReplicas, collisionCount }, statusPath, problems);
  const limit = { name: "status.replicas", value: replicas };
  checkNotAbove(counts, { path: statusPath, problems, limit });
  const ready = { name: "readyReplicas", value: readyReplicas };
  checkNotAbove({ availableReplicas }, { path: statusPath, problems, limit: ready });
  checkCollisions(collisionCount, before.status.collisionCount, { path: statusPath, problems });
}

const divided = splitByStatusSubresource(() => ({}));

/** Increments the generation for changed annotations, too, as the controller observes them. */
function prepareUpdate(object: Deployment, old: Deployment, context: HookContext): void {
  divided.prepareUpdate(object, old, context);
  if (context.subresource === "status") {
    dropGated(status, object.status, { old: old.status, isOn: context.gate });
    const { labels } = old.metadata;
    if (labels === undefined) delete object.metadata.labels;
    else object.metadata.labels = labels;
    return;
  }
  dropGatedPodFields(object.spec.template.spec, old.spec.template.spec, context.gate);
  const { annotations: now = {} } = object.metadata;
  const { annotations: before = {}, generation = 0 } = old.metadata;
  if (!deepEqual(now, before)) object.metadata.generation = Number(generation) + 1;
}

export const deployment = kind(deploymentV1, {
  group: "apps",
  kind: "Deployment",
  plural: "deployments",
  shortNames: ["deploy"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: deploymentV1, onByDefault: true, convert: "hub" }],
  subresources: [scaleSubresource, statusSubresource],
  rules: { generation: true, resets: { status: ["spec", "metadata.labels"] } },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGatedPodFields(object.spec.template.spec, undefined, context.gate);
    },
    prepareUpdate,
    validate,
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") return checkStatus(object, old, problems);
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
    column("Ready", "Ready pods out of the desired ones."),
    column("Up-to-date", "Pods created from the current template."),
    column("Available", "Number of pods that have been ready for at least minReadySeconds."),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  row: (object, context) => {
    const { replicas = 0, template, selector } = object.spec;
    const { readyReplicas = 0, updatedReplicas = 0, availableReplicas = 0 } = object.status;
    return [
      nameOf(object),
      `${readyReplicas}/${replicas}`,
      updatedReplicas,
      availableReplicas,
      ageOf(object, context),
      ...containerCells(template),
      selectorCell(selector),
    ];
  },
});
