import { deepEqual } from "#base";
import {
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
} from "#schema";
import { type HookContext, intOrString, kind, labelSelector, objectMeta, time } from "#meta";
import { defaultPodSpec } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { containerCells } from "../core/pod-template.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { dividedBySubresource, mustNotChange } from "../strategy.ts";
import {
  byType,
  checkAtMostAll,
  checkCollisions,
  checkLastingTemplate,
  checkMatch,
  checkNotAbove,
  checkNotNegative,
  checkSelector,
  checkShare,
  containersColumn,
  imagesColumn,
  nameWarnings,
  scaleSubresource,
  selectorCell,
  selectorColumn,
  shownSelector,
  shareValue,
  statusSubresource,
  templateWarnings,
} from "./workload.ts";

const v1 = structs("api/apps/v1");

const rollingUpdate = v1("RollingUpdateDeployment", "How fast pods are replaced.", {
  maxUnavailable: pointer(
    1,
    intOrString,
    "How many may be missing meanwhile, as a number or percentage; 25% by default.",
  ),
  maxSurge: pointer(
    2,
    intOrString,
    "How many there may be in excess meanwhile, as a number or percentage; 25% by default.",
  ),
});

const strategy = v1("DeploymentStrategy", "How pods are replaced by new ones.", {
  type: value(
    1,
    named("v1.DeploymentStrategyType", "Recreate", "RollingUpdate"),
    "RollingUpdate, or Recreate: end all old ones first.",
    { default: "RollingUpdate" },
  ),
  rollingUpdate: pointer(2, rollingUpdate, "How fast pods are replaced."),
});

const spec = v1("DeploymentSpec", "Which pods, and how many.", {
  replicas: pointer(1, int32, "How many pods there shall be.", { default: 1 }),
  selector: nullablePointer(2, labelSelector, "Selects the pods; fixed."),
  template: required(3, podTemplateSpec, "The pods to be made."),
  strategy: value(4, strategy, "How pods are replaced by new ones.", {
    patchStrategy: ["retainKeys"],
  }),
  minReadySeconds: value(5, int32, "Seconds that a new pod must be ready to count as available."),
  revisionHistoryLimit: pointer(6, int32, "How many old ReplicaSets to keep for going back.", {
    default: 10,
  }),
  paused: value(7, bool, "True = changes of the template wait."),
  progressDeadlineSeconds: pointer(
    9,
    int32,
    "Seconds without progress after which the deployment counts as stuck.",
    { default: 600 },
  ),
});

const condition = v1("DeploymentCondition", "One thing that holds or does not.", {
  type: required(
    1,
    named("v1.DeploymentConditionType", "Available", "Progressing", "ReplicaFailure"),
    "What it is about: Available, Progressing or ReplicaFailure.",
  ),
  status: required(2, string, "True, False or Unknown."),
  lastUpdateTime: value(6, time, "When it was last looked at."),
  lastTransitionTime: value(7, time, "When the status last changed."),
  reason: value(4, string, "Why, in one word for machines."),
  message: value(5, string, "Why, in words."),
});

const status = v1("DeploymentStatus", "How many pods there are.", {
  observedGeneration: value(1, int64, "Generation that the numbers are about."),
  replicas: value(2, int32, "All pods."),
  updatedReplicas: value(3, int32, "Those of the present template."),
  readyReplicas: value(7, int32, "Those that are ready."),
  availableReplicas: value(4, int32, "Those that have been ready for minReadySeconds."),
  unavailableReplicas: value(5, int32, "How many are missing."),
  terminatingReplicas: pointer(9, int32, "Those that are about to end.", {
    gate: "DeploymentReplicaSetTerminatingReplicas",
  }),
  conditions: value(6, list(condition), "What holds.", byType),
  collisionCount: pointer(8, int32, "How often the name of a ReplicaSet was taken."),
});

const deploymentV1 = v1("Deployment", "Keeps pods running, and replaces them when they change.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, spec, "Which pods, and how many."),
  status: value(3, status, "How many pods there are."),
});

type Deployment = Infer<typeof deploymentV1>;
type Spec = Deployment["spec"];

function fillDefaults({ spec }: Deployment, { gate }: HookContext): void {
  const { strategy: how, template } = spec;
  defaultPodSpec(template.spec, gate);
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
    unusable: "invalid label selector",
  });
  if (isUsable) {
    const place = path.child("template");
    checkMatch(selector, template, { path: place, problems });
    checkLastingTemplate(template, place, { kind: "ReplicaSet", problems, context });
  }
  checkStrategy(object.spec, problems);
  checkNotNegative({ minReadySeconds, revisionHistoryLimit }, path, problems);
  checkDeadline(object.spec, problems);
}

function checkStrategy({ strategy: how }: Spec, problems: Problems): void {
  const place = path.child("strategy");
  const rolling = place.child("rollingUpdate");
  const types = ["Recreate", "RollingUpdate"];
  if (!types.includes(how.type ?? "")) {
    // Shown with the field names of Go's struct, as Kubernetes prints it.
    const shown = { Type: how.type ?? "", RollingUpdate: goRollingUpdate(how.rollingUpdate) };
    problems.notSupported(place, shown, types);
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

function checkRollingUpdate(update: RollingUpdate, place: Path, problems: Problems): void {
  const { maxUnavailable, maxSurge } = update;
  const missing = place.child("maxUnavailable");
  checkShare(maxUnavailable, missing, problems);
  checkShare(maxSurge, place.child("maxSurge"), problems);
  if (shareValue(maxUnavailable) === 0 && shareValue(maxSurge) === 0) {
    problems.invalid(missing, maxUnavailable, "may not be 0 when `maxSurge` is 0");
  }
  checkAtMostAll(maxUnavailable, missing, problems);
}

function checkDeadline(what: Spec, problems: Problems): void {
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = what;
  if (deadline === undefined) return;
  checkNotNegative({ progressDeadlineSeconds: deadline }, path, problems);
  if (deadline > minReadySeconds) return;
  const place = path.child("progressDeadlineSeconds");
  problems.invalid(place, deadline, "must be greater than minReadySeconds");
}

function checkStatus({ status: now }: Deployment, before: Deployment, problems: Problems): void {
  const place = Path.of("status");
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = now;
  const { observedGeneration, unavailableReplicas, terminatingReplicas, collisionCount } = now;
  checkNotNegative({ observedGeneration }, place, problems);
  const counts = { updatedReplicas, readyReplicas, availableReplicas };
  checkNotNegative({ replicas, ...counts, unavailableReplicas }, place, problems);
  checkNotNegative({ terminatingReplicas, collisionCount }, place, problems);
  const limit = { name: "status.replicas", value: replicas };
  checkNotAbove(counts, { path: place, problems, limit });
  const ready = { name: "readyReplicas", value: readyReplicas };
  checkNotAbove({ availableReplicas }, { path: place, problems, limit: ready });
  checkCollisions(collisionCount, before.status.collisionCount, { path: place, problems });
}

const divided = dividedBySubresource(() => ({}));

/** Controllers look at annotations, too, so that these move the generation as the spec does. */
function prepareUpdate(object: Deployment, old: Deployment, context: HookContext): void {
  divided.prepareUpdate(object, old, context);
  if (context.subresource === "status") {
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
      const selectors = { now, before: old.spec.selector, shown: shownSelector(now) };
      mustNotChange(problems, path.child("selector"), selectors);
    },
    warnings: (object, old, context) => [
      ...(old === undefined ? nameWarnings(object) : []),
      ...(context.subresource === ""
        ? templateWarnings(object.spec.template, path.child("template"), context)
        : []),
    ],
  },
  columns: [
    nameColumn,
    column("Ready", "How many pods are ready of how many wanted."),
    column("Up-to-date", "How many are of the present template."),
    column("Available", "How many have been ready for long enough."),
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
