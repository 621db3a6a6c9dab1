/** Arithmetic of PodDisruptionBudget statuses. */
import { deepEqual } from "#base";
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetCondition,
  PodDisruptionBudgetStatus,
} from "#kinds";
import type { LabelSelector } from "#meta";

/** Time in which an evicted pod must become terminating; after that the eviction no longer counts. */
const deletionTimeoutMs = 120_000;

const conditionType = "DisruptionAllowed";

/** Whether the budget depends on the expected scale of the pods' controllers. */
export function dependsOnScale({ spec }: PodDisruptionBudget): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === "string";
}

export interface Disrupted {
  /** Evicted pods that are not terminating yet: eviction time by name. */
  readonly pods: Readonly<Record<string, string>>;
  /** Milliseconds since 1970 at which the first of them becomes overdue; Infinity = none. */
  readonly recheckAt: number;
  /** Evicted pods that have not become terminating in time. */
  readonly overdue: readonly Pod[];
}

export function disruptedPodsOf(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  now: number,
): Disrupted {
  const recorded = budget.status?.disruptedPods ?? {};
  const kept: [string, string][] = [];
  const overdue: Pod[] = [];
  let recheckAt = Infinity;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const time = Object.hasOwn(recorded, name) ? recorded[name] : undefined;
    if (time === undefined || deletionTimestamp !== undefined) continue;
    const dueAt = Date.parse(time) + deletionTimeoutMs;
    if (dueAt < now) {
      overdue.push(pod);
      continue;
    }
    kept.push([name, time]);
    recheckAt = Math.min(recheckAt, dueAt);
  }
  return { pods: Object.fromEntries(kept), recheckAt, overdue };
}

export function countHealthy(
  pods: readonly Pod[],
  disrupted: Readonly<Record<string, string>>,
): number {
  return pods.filter(
    ({ metadata: { name, deletionTimestamp }, status }) =>
      deletionTimestamp === undefined &&
      !Object.hasOwn(disrupted, name) &&
      status?.conditions?.some((each) => each.type === "Ready" && each.status === "True"),
  ).length;
}

export interface Counts {
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  readonly disruptedPods: Readonly<Record<string, string>>;
}

/** New status of a budget; returns `budget.status` itself if nothing changed. */
export function nextStatus(
  budget: PodDisruptionBudget,
  counts: Counts,
  now: string,
): PodDisruptionBudgetStatus {
  const { currentHealthy, desiredHealthy, expectedPods } = counts;
  const spare = currentHealthy - desiredHealthy;
  // A budget without pods allows no disruptions, which protects its first pods until they are counted.
  const disruptionsAllowed = expectedPods > 0 ? Math.max(spare, 0) : 0;
  const observedGeneration = Number(budget.metadata.generation ?? 0);
  const allowed = disruptionsAllowed > 0;
  const conditions = withCondition(budget.status?.conditions ?? [], now, {
    status: allowed ? "True" : "False",
    reason: allowed ? "SufficientPods" : "InsufficientPods",
    message: "",
    observedGeneration,
  });
  const status = { ...counts, disruptionsAllowed, observedGeneration, conditions };
  return isSame(budget.status, status) ? budget.status! : status;
}

/** Status after a failed sync: allows no disruptions. */
export function failedStatus(
  budget: PodDisruptionBudget,
  message: string,
  now: string,
): PodDisruptionBudgetStatus {
  const { status = {} } = budget;
  const conditions = withCondition(status.conditions ?? [], now, {
    status: "False",
    reason: "SyncFailed",
    message,
    observedGeneration: Number(status.observedGeneration ?? 0),
  });
  const failed = { ...status, disruptionsAllowed: 0, conditions };
  return isSame(budget.status, failed) ? budget.status! : failed;
}

function withCondition(
  conditions: readonly PodDisruptionBudgetCondition[],
  now: string,
  wanted: Omit<PodDisruptionBudgetCondition, "type">,
): readonly PodDisruptionBudgetCondition[] {
  const before = conditions.find(({ type }) => type === conditionType);
  const { lastTransitionTime = now } = before?.status === wanted.status ? before : {};
  const next = { type: conditionType, ...wanted, lastTransitionTime };
  if (before === undefined) return [...conditions, next];
  return conditions.map((each) => (each === before ? next : each));
}

/** Whether two statuses are stored equally: numbers may be bigints, zeros and empty collections absent. */
function isSame(
  left: PodDisruptionBudgetStatus | undefined,
  right: PodDisruptionBudgetStatus,
): boolean {
  return deepEqual(normalized(left ?? {}), normalized(right));
}

function normalized(status: PodDisruptionBudgetStatus) {
  return {
    observedGeneration: Number(status.observedGeneration ?? 0),
    disruptionsAllowed: status.disruptionsAllowed ?? 0,
    currentHealthy: status.currentHealthy ?? 0,
    desiredHealthy: status.desiredHealthy ?? 0,
    expectedPods: status.expectedPods ?? 0,
    disruptedPods: { ...status.disruptedPods },
    conditions: (status.conditions ?? []).map(
      ({ type, status: value, reason = "", message = "", observedGeneration = 0 }) => ({
        type,
        value,
        reason,
        message,
        observedGeneration: Number(observedGeneration),
      }),
    ),
  };
}

/** Prints a selector like Go's generated `LabelSelector.String()`. */
export function printSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const labelText = labels.map(([key, value]) => `${key}: ${value},`).join("");
  const expressionText = (selector.matchExpressions ?? [])
    .map(({ key, operator, values }) => {
      const fields = `Key:${key},Operator:${operator},Values:[${(values ?? []).join(" ")}],`;
      return `LabelSelectorRequirement{${fields}},`;
    })
    .join("");
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labelText}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressionText}},}`
  );
}
