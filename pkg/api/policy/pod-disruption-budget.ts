import {
  required,
  type Infer,
  int32,
  int64,
  list,
  map,
  named,
  pointer,
  Path,
  value,
  type Problems,
  structs,
  mergedBy,
} from "#schema";
import {
  condition,
  intOrString,
  isPercent,
  kind,
  kubernetes,
  labelSelector,
  objectMeta,
  time,
} from "#meta";
import { checkConditions } from "../condition-rules.ts";
import { checkLabelSelector } from "../label-selector.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { goShape } from "../go/go-shape.ts";
import { splitByStatusSubresource } from "../strategy.ts";

const v1 = structs("api/policy/v1");

const podDisruptionBudgetSpec = v1(
  "PodDisruptionBudgetSpec",
  "Desired state of a PodDisruptionBudget. minAvailable and maxUnavailable are mutually exclusive.",
  {
    minAvailable: pointer(
      1,
      intOrString,
      "Minimum number of selected pods that must still be available after an eviction, as an " +
        "absolute number or a percentage of the expected pods, rounded up. 100% prevents all " +
        "voluntary evictions.",
    ),
    selector: pointer(
      2,
      labelSelector,
      "Label query over the pods whose evictions are limited. {} selects all pods in the " +
        "namespace; absent selects none.",
      { patchStrategy: ["replace"] },
    ),
    maxUnavailable: pointer(
      3,
      intOrString,
      "Maximum number of selected pods that may be unavailable after an eviction, as an " +
        "absolute number or a percentage of the expected pods, rounded up. 0 prevents all " +
        "voluntary evictions.",
    ),
    unhealthyPodEvictionPolicy: pointer(
      4,
      named("v1.UnhealthyPodEvictionPolicyType", "IfHealthyBudget", "AlwaysAllow"),
      "When to evict unhealthy pods: running, but not ready. One of IfHealthyBudget (only if " +
        "at least desiredHealthy pods are healthy), AlwaysAllow (regardless of the budget). " +
        "Behaves as IfHealthyBudget when absent.",
    ),
  },
);

const podDisruptionBudgetStatus = v1(
  "PodDisruptionBudgetStatus",
  "Observed state of a PodDisruptionBudget. Evictions are refused while observedGeneration is " +
    "outdated.",
  {
    observedGeneration: value(1, int64, "Value of metadata.generation that this status describes."),
    disruptedPods: value(
      2,
      map(time),
      "Times of evictions by pod name, for pods whose deletion the disruption controller has " +
        "not observed yet. Entries expire after two minutes.",
    ),
    disruptionsAllowed: required(3, int32, "Number of pods that may currently be evicted."),
    currentHealthy: required(4, int32, "Current number of healthy pods."),
    desiredHealthy: required(5, int32, "Minimum desired number of healthy pods."),
    expectedPods: required(
      6,
      int32,
      "Total number of pods that the budget counts, according to the scale of their controllers.",
    ),
    conditions: value(
      7,
      list(condition),
      "Latest observed conditions. DisruptionAllowed tells whether disruptions are allowed, " +
        "and if not, why.",
      mergedBy("type"),
    ),
  },
);

const podDisruptionBudgetV1 = v1(
  "PodDisruptionBudget",
  "PodDisruptionBudget limits the number of pods of an application that are down at the same " +
    "time because of voluntary disruptions.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(
      2,
      podDisruptionBudgetSpec,
      "Selected pods, and how many of them must be or may not be available.",
    ),
    status: value(
      3,
      podDisruptionBudgetStatus,
      "Healthy pods and allowed disruptions, reported by the disruption controller. Read-only.",
    ),
  },
);

type PodDisruptionBudget = Infer<typeof podDisruptionBudgetV1>;

const evictionPolicies = ["AlwaysAllow", "IfHealthyBudget"];
const counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const;

/** Requires a non-negative integer or a percentage up to 100. */
function checkAmount(amount: number | string | undefined, path: Path, problems: Problems): void {
  if (amount === undefined) return;
  if (typeof amount === "number") {
    if (amount < 0) problems.invalid(path, amount, "must be greater than or equal to 0");
    return;
  }
  const messages = isPercent(amount);
  for (const message of messages) problems.invalid(path, amount, message);
  if (messages.length === 0 && Number.parseInt(amount, 10) > 100) {
    problems.invalid(path, amount, "must not be greater than 100%");
  }
}

function validate({ spec }: PodDisruptionBudget, problems: Problems): void {
  const path = Path.of("spec");
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec;
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = goShape(podDisruptionBudgetSpec, spec);
    problems.invalid(path, shown, "minAvailable and maxUnavailable cannot be both set");
  }
  checkAmount(minAvailable, path.child("minAvailable"), problems);
  checkAmount(maxUnavailable, path.child("maxUnavailable"), problems);
  checkLabelSelector(selector, path.child("selector"), problems);
  if (policy === undefined || evictionPolicies.includes(policy)) return;
  problems.notSupported(path.child("unhealthyPodEvictionPolicy"), policy, evictionPolicies);
}

function checkStatus({ status }: PodDisruptionBudget, problems: Problems): void {
  const path = Path.of("status");
  checkConditions(status.conditions, path.child("conditions"), problems);
  for (const field of counts) {
    if (status[field] >= 0) continue;
    problems.invalid(path.child(field), status[field], "must be greater than or equal to 0");
  }
}

const noPod = {
  matchExpressions: [
    { key: `pdb.${kubernetes.label}/deprecated-v1beta1-empty-selector-match`, operator: "Exists" },
  ],
};

/** Conversion from v1beta1, in which an empty selector matched no pods instead of all. */
function budgetFromV1beta1(old: PodDisruptionBudget): PodDisruptionBudget {
  const { matchLabels = {}, matchExpressions = [] } = old.spec.selector ?? {};
  const isEmpty = Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
  if (old.spec.selector === undefined || !isEmpty) return old;
  return { ...old, spec: { ...old.spec, selector: noPod } };
}

export const podDisruptionBudget = kind(podDisruptionBudgetV1, {
  group: "policy",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  shortNames: ["pdb"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: podDisruptionBudgetV1, onByDefault: true, convert: "hub" }],
  readableVersions: [{ version: "v1beta1", struct: podDisruptionBudgetV1, up: budgetFromV1beta1 }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    freeFinalizers: true,
    metadataOnUpdate: { "": [], status: [] },
    name: "path-segment",
    unconditionalUpdate: false,
    generation: true,
  },
  hooks: {
    ...splitByStatusSubresource(() => ({
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
    })),
    validate,
    validateUpdate: (object, _old, problems, { subresource }) => {
      if (subresource === "status") checkStatus(object, problems);
      else validate(object, problems);
    },
  },
  columns: [
    nameColumn,
    column("Min Available", "Pods that must stay available."),
    column("Max Unavailable", "Pods that may be unavailable."),
    column("Allowed Disruptions", "Evictions that are allowed right now.", { type: "integer" }),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    String(object.spec.minAvailable ?? "N/A"),
    String(object.spec.maxUnavailable ?? "N/A"),
    object.status.disruptionsAllowed,
    ageOf(object, context),
  ],
});
