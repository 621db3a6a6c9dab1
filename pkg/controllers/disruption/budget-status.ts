/** Arithmetic of PodDisruptionBudget statuses. */
import { deepEqual } from "#base";
import type {
  Pod,
  PodDisruptionBudget,
  PodDisruptionBudgetCondition,
  PodDisruptionBudgetStatus,
} from "#kinds";
import type { LabelSelector } from "#meta";

/** Time within which an evicted pod should be terminating; after it the eviction does not count. */
const deletionTimeoutMs = 120_000;

const conditionType = "DisruptionAllowed";

/** Whether the budget is relative to the number of pods that their controllers should have. */
export function isOfScale({ spec }: PodDisruptionBudget): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === "string";
}

export interface Disrupted {
  /** Evicted pods that are not seen terminating yet. */
  readonly pods: Readonly<Record<string, string>>;
  /** Milliseconds since 1970 when the first of them is overdue; Infinity = there is none. */
  readonly recheckAt: number;
  /** Pods that should be terminating by now and are not. */
  readonly overdue: readonly Pod[];
}

export function disruptedPodsOf(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  now: number,
): Disrupted {
  const noted = budget.status?.disruptedPods ?? {};
  const kept: [string, string][] = [];
  const overdue: Pod[] = [];
  let recheckAt = Infinity;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const time = Object.hasOwn(noted, name) ? noted[name] : undefined;
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

/** The status that the counts make of a budget; `budget.status` itself if it is up to date. */
export function nextStatus(
  budget: PodDisruptionBudget,
  counts: Counts,
  now: string,
): PodDisruptionBudgetStatus {
  const { currentHealthy, desiredHealthy, expectedPods } = counts;
  const spare = currentHealthy - desiredHealthy;
  // A budget without pods allows nothing, so that its first pods are safe until they are counted.
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

/** The status of a budget that cannot be computed: it allows nothing. */
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

/** Equal in what is stored: numbers may be bigints, and zeros and empty collections absent. */
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

/** A selector as Go prints it. */
export function shownSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const shownLabels = labels.map(([key, value]) => `${key}: ${value},`).join("");
  const shownExpressions = (selector.matchExpressions ?? [])
    .map(({ key, operator, values }) => {
      const shown = `Key:${key},Operator:${operator},Values:[${(values ?? []).join(" ")}],`;
      return `LabelSelectorRequirement{${shown}},`;
    })
    .join("");
  return (
    `&LabelSelector{MatchLabels:map[string]string{${shownLabels}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${shownExpressions}},}`
  );
}
