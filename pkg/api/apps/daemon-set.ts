import { assign } from "#base";
import {
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
  semanticEquality,
  string,
  structs,
  mergedBy,
} from "#schema";
import {
  type HookContext,
  intOrString,
  kind,
  labelSelector,
  objectMeta,
  time,
  goQuote,
} from "#meta";
import { defaultPodTemplate } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { podWarnings } from "../core/pod/pod-warnings.ts";
import { containerCells } from "../core/pod-template.ts";
import { checkLabelSelector, formatLabels } from "../label-selector.ts";
import { goSelector } from "../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, entry, mustNotChange, unsupported } from "../strategy.ts";
import {
  checkAtMostAll,
  checkCollisions,
  checkLongRunningTemplate,
  checkMatch,
  checkNotNegative,
  checkIntOrPercent,
  containersColumn,
  imagesColumn,
  selectorCell,
  selectorColumn,
  intOrPercentValue,
  statusSubresource,
} from "./workload.ts";

const v1 = structs("api/apps/v1");

const rollingUpdate = v1(
  "RollingUpdateDaemonSet",
  "Parameters of a DaemonSet rolling update. Exactly one of maxUnavailable and maxSurge must " +
    "be nonzero.",
  {
    maxUnavailable: pointer(
      1,
      intOrString,
      "Maximum number of nodes without an available pod during the update, as an absolute " +
        "number or a percentage of desiredNumberScheduled, rounded up. Must not be 0 if " +
        "maxSurge is 0. Defaults to 1.",
    ),
    maxSurge: pointer(
      2,
      intOrString,
      "Maximum number of nodes that may run an old and a new pod at the same time, as an " +
        "absolute number or a percentage of desiredNumberScheduled, rounded up. Must be 0 if " +
        "maxUnavailable is not. The resources used on a node can double during the update. " +
        "Defaults to 0.",
    ),
  },
);

const updateStrategy = v1("DaemonSetUpdateStrategy", "Update strategy of a DaemonSet.", {
  type: value(
    1,
    named("v1.DaemonSetUpdateStrategyType", "RollingUpdate", "OnDelete"),
    "One of RollingUpdate (the controller replaces old pods gradually), OnDelete (an old pod " +
      "is replaced only after it was deleted manually). Defaults to RollingUpdate.",
    { default: "RollingUpdate" },
  ),
  rollingUpdate: pointer(
    2,
    rollingUpdate,
    "Parameters of the rolling update. Only for type RollingUpdate.",
  ),
});

const spec = v1("DaemonSetSpec", "Desired state of a DaemonSet.", {
  selector: nullablePointer(
    1,
    labelSelector,
    "Label query over the pods that the DaemonSet manages. Required, must not be empty, and " +
      "must match the labels of the template. Immutable.",
  ),
  template: required(
    2,
    podTemplateSpec,
    "Template of the pod to run on every node that matches its nodeSelector, affinity and " +
      "tolerations. restartPolicy must be Always.",
  ),
  updateStrategy: value(
    3,
    updateStrategy,
    "Strategy to replace existing pods when the template changes.",
  ),
  minReadySeconds: value(
    4,
    int32,
    "Seconds for which a new pod must be ready, without any container crashing, to be " +
      "considered available. Defaults to 0.",
  ),
  revisionHistoryLimit: pointer(
    6,
    int32,
    "Number of old ControllerRevisions to keep for rollbacks. Defaults to 10.",
    {
      default: 10,
    },
  ),
});

const condition = v1("DaemonSetCondition", "One observed condition of a DaemonSet.", {
  type: required(
    1,
    named("v1.DaemonSetConditionType"),
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

const status = v1("DaemonSetStatus", "Observed state of a DaemonSet, counted in nodes.", {
  currentNumberScheduled: required(
    1,
    int32,
    "Number of nodes that run at least one daemon pod and are supposed to.",
  ),
  numberMisscheduled: required(
    2,
    int32,
    "Number of nodes that run a daemon pod, but are not supposed to.",
  ),
  desiredNumberScheduled: required(
    3,
    int32,
    "Number of nodes that should run the daemon pod, whether they do or not.",
  ),
  numberReady: required(
    4,
    int32,
    "Number of nodes that should run the daemon pod and have one that is ready.",
  ),
  observedGeneration: value(5, int64, "Value of metadata.generation that this status describes."),
  updatedNumberScheduled: value(
    6,
    int32,
    "Number of nodes with a daemon pod of the current template.",
  ),
  numberAvailable: value(
    7,
    int32,
    "Number of nodes with a daemon pod that has been ready for at least minReadySeconds.",
  ),
  numberUnavailable: value(
    8,
    int32,
    "Number of nodes that should run the daemon pod, but have none that is available.",
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
});

const daemonSetV1 = v1(
  "DaemonSet",
  "DaemonSet ensures that every eligible node runs a copy of a pod.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Pod template, selector and update strategy."),
    status: value(
      3,
      status,
      "Node counts reported by the DaemonSet controller. They can trail the actual state. " +
        "Read-only.",
    ),
  },
);

type DaemonSet = Infer<typeof daemonSetV1>;
type Spec = DaemonSet["spec"];

/** Annotation that counts changes of the template, for clients of earlier API versions. */
const templateGenerationAnnotation = "deprecated.daemonset.template.generation";

function generationOf({ metadata }: DaemonSet): bigint {
  const text = entry(metadata.annotations, templateGenerationAnnotation) ?? "";
  return /^[-+]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, "")) : 0n;
}

/** The annotation is a field of Kubernetes' internal version: an int64. */
function generationFault(daemonSet: DaemonSet): string | undefined {
  const text = entry(daemonSet.metadata.annotations, templateGenerationAnnotation);
  if (text === undefined) return undefined;
  const parsing = `strconv.ParseInt: parsing ${goQuote(text)}`;
  if (!/^[-+]?\d+$/.test(text)) return `${parsing}: invalid syntax`;
  const generation = generationOf(daemonSet);
  const fits = BigInt.asIntN(64, generation) === generation;
  return fits ? undefined : `${parsing}: value out of range`;
}

function setGeneration({ metadata }: DaemonSet, generation: bigint): void {
  metadata.annotations ??= {};
  assign(metadata.annotations, templateGenerationAnnotation, String(generation));
}

function fillDefaults(daemonSet: DaemonSet, { gate }: HookContext): void {
  const { template, updateStrategy: how } = daemonSet.spec;
  // Serialized in every object, so that the creator's managedFields include it.
  setGeneration(daemonSet, generationOf(daemonSet));
  defaultPodTemplate(template, gate);
  if (how.type === "RollingUpdate") {
    how.rollingUpdate ??= {};
    how.rollingUpdate.maxUnavailable ??= 1;
  }
  if (how.rollingUpdate !== undefined) how.rollingUpdate.maxSurge ??= 0;
}

const path = Path.of("spec");

function validate({ spec: what }: DaemonSet, problems: Problems, context: HookContext): void {
  const { selector, template, minReadySeconds, revisionHistoryLimit } = what;
  const templatePath = path.child("template");
  checkLabelSelector(selector ?? undefined, path.child("selector"), problems);
  checkMatch(selector, template, { path: templatePath, problems });
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  if (selector !== null && Object.keys(matchLabels).length + matchExpressions.length === 0) {
    const detail = "empty selector is invalid for daemonset";
    problems.invalid(path.child("selector"), goSelector(selector), detail);
  }
  checkLongRunningTemplate(template, templatePath, { kind: "DaemonSet", problems, context });
  checkNotNegative({ minReadySeconds }, path, problems);
  checkStrategy(what, problems);
  checkNotNegative({ revisionHistoryLimit }, path, problems);
}

function checkStrategy({ updateStrategy: how }: Spec, problems: Problems): void {
  const updateStrategyPath = path.child("updateStrategy");
  const supported = ["RollingUpdate", "OnDelete"];
  const rolling = updateStrategyPath.child("rollingUpdate");
  if (!supported.includes(how.type ?? "")) {
    // Reported with the field names of Go's struct, as in Kubernetes.
    const { maxUnavailable = 0, maxSurge = 0 } = how.rollingUpdate ?? {};
    const goRollingUpdate = { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge };
    const value = {
      Type: how.type ?? "",
      RollingUpdate: how.rollingUpdate ? goRollingUpdate : null,
    };
    unsupported(problems, updateStrategyPath, { value, supported });
  } else if (how.type === "OnDelete") return;
  else if (how.rollingUpdate === undefined) problems.required(rolling);
  else checkRollingUpdate(how.rollingUpdate, rolling, problems);
}

type RollingUpdate = NonNullable<Spec["updateStrategy"]["rollingUpdate"]>;

function checkRollingUpdate(update: RollingUpdate, path: Path, problems: Problems): void {
  const { maxUnavailable, maxSurge } = update;
  const missing = path.child("maxUnavailable");
  const surplus = path.child("maxSurge");
  checkIntOrPercent(maxUnavailable, missing, problems);
  checkIntOrPercent(maxSurge, surplus, problems);
  checkAtMostAll(maxUnavailable, missing, problems);
  checkAtMostAll(maxSurge, surplus, problems);
  const hasMissing = intOrPercentValue(maxUnavailable) !== 0;
  const hasSurplus = intOrPercentValue(maxSurge) !== 0;
  if (hasMissing && hasSurplus) {
    problems.invalid(surplus, maxSurge, "may not be set when maxUnavailable is non-zero");
  }
  if (!hasMissing && !hasSurplus) problems.required(missing, "cannot be 0 when maxSurge is 0");
}

function checkStatus({ status: now }: DaemonSet, before: DaemonSet, problems: Problems): void {
  const statusPath = Path.of("status");
  const { currentNumberScheduled, numberMisscheduled, desiredNumberScheduled } = now;
  const { numberReady, observedGeneration, updatedNumberScheduled } = now;
  const { numberAvailable, numberUnavailable, collisionCount } = now;
  checkNotNegative(
    {
      currentNumberScheduled,
      numberMisscheduled,
      desiredNumberScheduled,
      numberReady,
      observedGeneration,
      updatedNumberScheduled,
      numberAvailable,
      numberUnavailable,
      collisionCount,
    },
    statusPath,
    problems,
  );
  checkCollisions(collisionCount, before.status.collisionCount, { path: statusPath, problems });
}

const divided = splitByStatusSubresource(() => ({
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
}));

const count = (name: string, doc: string) => column(name, doc, { type: "integer" });

const sameTemplate = semanticEquality(podTemplateSpec);

export const daemonSet = kind(daemonSetV1, {
  group: "apps",
  kind: "DaemonSet",
  plural: "daemonsets",
  shortNames: ["ds"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: daemonSetV1, onByDefault: true, convert: "hub" }],
  subresources: [statusSubresource],
  rules: { generation: true, fieldAnnotation: templateGenerationAnnotation },
  hooks: {
    conversionFault: generationFault,
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGatedPodFields(object.spec.template.spec, undefined, context.gate);
      const requested = generationOf(object);
      setGeneration(object, requested < 1n ? 1n : requested);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGatedPodFields(object.spec.template.spec, old.spec.template.spec, context.gate);
      const isChanged = !sameTemplate(object.spec.template, old.spec.template);
      setGeneration(object, generationOf(old) + (isChanged ? 1n : 0n));
    },
    validate,
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") return checkStatus(object, old, problems);
      const { selector: now } = object.spec;
      const selectors = {
        now,
        before: old.spec.selector,
        shown: goSelector(now),
        type: labelSelector,
      };
      mustNotChange(problems, path.child("selector"), selectors);
      validate(object, problems, context);
    },
    // Compares template generations, so that a changed update strategy alone causes no warning.
    warnings: (object, old, context) =>
      context.subresource === "" && (!old || generationOf(object) !== generationOf(old))
        ? podWarnings(object.spec.template, path.child("template"), context)
        : [],
  },
  columns: [
    nameColumn,
    count("Desired", "Number of nodes that should run the daemon pod, whether they do or not."),
    count("Current", "Nodes that run the pod and are supposed to."),
    count("Ready", "Nodes with a ready pod."),
    count("Up-to-date", "Number of nodes with a daemon pod of the current template."),
    count(
      "Available",
      "Number of nodes with a daemon pod that has been ready for at least minReadySeconds.",
    ),
    column("Node Selector", "Labels that a node must have to run the pod."),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.status.desiredNumberScheduled,
    object.status.currentNumberScheduled,
    object.status.numberReady,
    object.status.updatedNumberScheduled ?? 0,
    object.status.numberAvailable ?? 0,
    formatLabels(object.spec.template.spec.nodeSelector),
    ageOf(object, context),
    ...containerCells(object.spec.template),
    selectorCell(object.spec.selector),
  ],
});
