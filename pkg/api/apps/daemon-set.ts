import { assign, deepEqual } from "#base";
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
  string,
  structs,
} from "#schema";
import { type HookContext, intOrString, kind, labelSelector, objectMeta, time } from "#meta";
import { defaultPodSpec } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import { podTemplateSpec } from "../core/pod/spec/pod-spec.ts";
import { containerCells } from "../core/pod-template.ts";
import { checkLabelSelector, formatLabels } from "../label-selector.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { dividedBySubresource, entry, mustNotChange, unsupported } from "../strategy.ts";
import {
  byType,
  checkAtMostAll,
  checkCollisions,
  checkLastingTemplate,
  checkMatch,
  checkNotNegative,
  checkShare,
  containersColumn,
  imagesColumn,
  selectorCell,
  selectorColumn,
  shownSelector,
  shareValue,
  statusSubresource,
  templateWarnings,
} from "./workload.ts";

const v1 = structs("api/apps/v1");

const rollingUpdate = v1("RollingUpdateDaemonSet", "How fast pods are replaced.", {
  maxUnavailable: pointer(
    1,
    intOrString,
    "On how many nodes the pod may be missing meanwhile, as a number or percentage.",
  ),
  maxSurge: pointer(
    2,
    intOrString,
    "On how many nodes there may be a second pod meanwhile, as a number or percentage.",
  ),
});

const updateStrategy = v1("DaemonSetUpdateStrategy", "How pods are replaced by new ones.", {
  type: value(
    1,
    named("v1.DaemonSetUpdateStrategyType", "RollingUpdate", "OnDelete"),
    "RollingUpdate, or OnDelete: when someone deletes them.",
    { default: "RollingUpdate" },
  ),
  rollingUpdate: pointer(2, rollingUpdate, "How fast pods are replaced."),
});

const spec = v1("DaemonSetSpec", "Which pods, and where.", {
  selector: nullablePointer(1, labelSelector, "Selects the pods; fixed."),
  template: required(2, podTemplateSpec, "The pods to be made; it says on which nodes."),
  updateStrategy: value(3, updateStrategy, "How pods are replaced by new ones."),
  minReadySeconds: value(4, int32, "Seconds that a new pod must be ready to count as available."),
  revisionHistoryLimit: pointer(6, int32, "How many revisions to keep for going back.", {
    default: 10,
  }),
});

const condition = v1("DaemonSetCondition", "One thing that holds or does not.", {
  type: required(1, string, "What it is about."),
  status: required(2, string, "True, False or Unknown."),
  lastTransitionTime: value(3, time, "When the status last changed."),
  reason: value(4, string, "Why, in one word for machines."),
  message: value(5, string, "Why, in words."),
});

const status = v1("DaemonSetStatus", "On how many nodes the pods are.", {
  currentNumberScheduled: required(1, int32, "Nodes that have the pod and should."),
  numberMisscheduled: required(2, int32, "Nodes that have the pod but should not."),
  desiredNumberScheduled: required(3, int32, "Nodes that should have the pod."),
  numberReady: required(4, int32, "Nodes that should and do have a ready pod."),
  observedGeneration: value(5, int64, "Generation that the numbers are about."),
  updatedNumberScheduled: value(6, int32, "Nodes with a pod of the present template."),
  numberAvailable: value(7, int32, "Nodes with a pod that has been ready for minReadySeconds."),
  numberUnavailable: value(8, int32, "Nodes that should have such a pod but do not."),
  collisionCount: pointer(9, int32, "How often the name of a revision was taken."),
  conditions: value(10, list(condition), "What holds.", byType),
});

const daemonSetV1 = v1("DaemonSet", "Keeps one pod running on each node.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, spec, "Which pods, and where."),
  status: value(3, status, "On how many nodes the pods are."),
});

type DaemonSet = Infer<typeof daemonSetV1>;
type Spec = DaemonSet["spec"];

/** Counts the changes of the template, for clients of old versions of the API. */
const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

function generationOf({ metadata }: DaemonSet): bigint {
  const text = entry(metadata.annotations, TEMPLATE_GENERATION) ?? "";
  return /^[-+]?\d{1,18}$/.test(text) ? BigInt(text) : 0n;
}

function setGeneration({ metadata }: DaemonSet, generation: bigint): void {
  metadata.annotations ??= {};
  assign(metadata.annotations, TEMPLATE_GENERATION, String(generation));
}

function fillDefaults(daemonSet: DaemonSet, { gate }: HookContext): void {
  const { template, updateStrategy: how } = daemonSet.spec;
  // Part of every object as clients see it, so that whoever creates one owns it.
  setGeneration(daemonSet, generationOf(daemonSet));
  defaultPodSpec(template.spec, gate);
  if (how.type === "RollingUpdate") {
    how.rollingUpdate ??= {};
    how.rollingUpdate.maxUnavailable ??= 1;
  }
  if (how.rollingUpdate !== undefined) how.rollingUpdate.maxSurge ??= 0;
}

const path = Path.of("spec");

function validate({ spec: what }: DaemonSet, problems: Problems, context: HookContext): void {
  const { selector, template, minReadySeconds, revisionHistoryLimit } = what;
  const place = path.child("template");
  checkLabelSelector(selector ?? undefined, path.child("selector"), problems);
  checkMatch(selector, template, { path: place, problems });
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  if (selector !== null && Object.keys(matchLabels).length + matchExpressions.length === 0) {
    const detail = "empty selector is invalid for daemonset";
    problems.invalid(path.child("selector"), selector, detail);
  }
  checkLastingTemplate(template, place, { kind: "DaemonSet", problems, context });
  checkNotNegative({ minReadySeconds }, path, problems);
  checkStrategy(what, problems);
  checkNotNegative({ revisionHistoryLimit }, path, problems);
}

function checkStrategy({ updateStrategy: how }: Spec, problems: Problems): void {
  const place = path.child("updateStrategy");
  const supported = ["RollingUpdate", "OnDelete"];
  const rolling = place.child("rollingUpdate");
  if (!supported.includes(how.type ?? "")) {
    // Shown with the field names of Go's struct, as Kubernetes prints it.
    const { maxUnavailable = 0, maxSurge = 0 } = how.rollingUpdate ?? {};
    const shown = { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge };
    const value = { Type: how.type ?? "", RollingUpdate: how.rollingUpdate ? shown : null };
    unsupported(problems, place, { value, supported });
  } else if (how.type === "OnDelete") return;
  else if (how.rollingUpdate === undefined) problems.required(rolling);
  else checkRollingUpdate(how.rollingUpdate, rolling, problems);
}

type RollingUpdate = NonNullable<Spec["updateStrategy"]["rollingUpdate"]>;

function checkRollingUpdate(update: RollingUpdate, place: Path, problems: Problems): void {
  const { maxUnavailable, maxSurge } = update;
  const missing = place.child("maxUnavailable");
  const surplus = place.child("maxSurge");
  checkShare(maxUnavailable, missing, problems);
  checkShare(maxSurge, surplus, problems);
  checkAtMostAll(maxUnavailable, missing, problems);
  checkAtMostAll(maxSurge, surplus, problems);
  const hasMissing = shareValue(maxUnavailable) !== 0;
  const hasSurplus = shareValue(maxSurge) !== 0;
  if (hasMissing && hasSurplus) {
    problems.invalid(surplus, maxSurge, "may not be set when maxUnavailable is non-zero");
  }
  if (!hasMissing && !hasSurplus) problems.required(missing, "cannot be 0 when maxSurge is 0");
}

function checkStatus({ status: now }: DaemonSet, before: DaemonSet, problems: Problems): void {
  const place = Path.of("status");
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
    place,
    problems,
  );
  checkCollisions(collisionCount, before.status.collisionCount, { path: place, problems });
}

const divided = dividedBySubresource(() => ({
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
}));

const count = (name: string, doc: string) => column(name, doc, { type: "integer" });

export const daemonSet = kind(daemonSetV1, {
  group: "apps",
  kind: "DaemonSet",
  plural: "daemonsets",
  shortNames: ["ds"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: daemonSetV1, onByDefault: true, convert: "hub" }],
  subresources: [statusSubresource],
  rules: { generation: true, fieldAnnotation: TEMPLATE_GENERATION },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGatedPodFields(object.spec.template.spec, undefined, context.gate);
      const given = generationOf(object);
      setGeneration(object, given < 1n ? 1n : given);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGatedPodFields(object.spec.template.spec, old.spec.template.spec, context.gate);
      const isChanged = !deepEqual(object.spec.template, old.spec.template);
      setGeneration(object, generationOf(old) + (isChanged ? 1n : 0n));
    },
    validate,
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") return checkStatus(object, old, problems);
      validate(object, problems, context);
      const { selector: now } = object.spec;
      const selectors = { now, before: old.spec.selector, shown: shownSelector(now) };
      mustNotChange(problems, path.child("selector"), selectors);
    },
    warnings: (object, _old, context) =>
      context.subresource === ""
        ? templateWarnings(object.spec.template, path.child("template"), context)
        : [],
  },
  columns: [
    nameColumn,
    count("Desired", "Nodes that should have the pod."),
    count("Current", "Nodes that have the pod and should."),
    count("Ready", "Nodes that should and do have a ready pod."),
    count("Up-to-date", "Nodes with a pod of the present template."),
    count("Available", "Nodes with a pod that has been ready for long enough."),
    column("Node Selector", "Labels of the nodes that should have the pod."),
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
