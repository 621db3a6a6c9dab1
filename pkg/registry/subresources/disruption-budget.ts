import { forbidden, plainFailure, StatusError, tooManyRequests } from "#meta";
import { timestamp } from "../write/metadata.ts";

/**
 * Changes of a PodDisruptionBudget's status by evictions. The disruption controller computes
 * disruptionsAllowed; until it has observed an eviction, disruptedPods records it, so that concurrent
 * evictions do not use the same allowed disruption.
 */

/** Limit of disruptedPods that the disruption controller has not processed (MaxDisruptedPodSize). */
const maxDisruptedPods = 2000;

/**
 * Takes one allowed disruption for the pod, in place.
 *
 * @throws StatusError 429 if the budget allows none or is not observed, 403 for an invalid status
 */
export function takeDisruption(budget: any, pod: string, now: number): void {
  const { metadata, status } = budget;
  const { name } = metadata;
  if (BigInt(status.observedGeneration ?? 0) < BigInt(metadata.generation ?? 0)) {
    throw violation(name, "unobserved");
  }
  if (status.disruptionsAllowed < 0) {
    throw invalidStatus(name, "pdb disruptions allowed is negative");
  }
  if (Object.keys(status.disruptedPods ?? {}).length > maxDisruptedPods) {
    const reason = "too many evictions not confirmed by PDB controller";
    throw invalidStatus(name, `DisruptedPods map too big - ${reason}`);
  }
  if (status.disruptionsAllowed === 0) throw violation(name, { status });
  status.disruptionsAllowed -= 1;
  if (status.disruptionsAllowed === 0) setInsufficientPods(status, now);
  const disrupted = { __proto__: null, ...status.disruptedPods, [pod]: timestamp(now) };
  status.disruptedPods = disrupted;
}

function invalidStatus(name: string, reason: string): StatusError {
  return forbidden({ group: "policy", plural: "poddisruptionbudget" }, name, reason);
}

const conditionType = "DisruptionAllowed";

/** Sets the condition DisruptionAllowed to False; lastTransitionTime changes only with the status. */
function setInsufficientPods(status: any, now: number): void {
  status.conditions ??= [];
  const index = status.conditions.findIndex(({ type }: any) => type === conditionType);
  const before = status.conditions[index];
  const isUnchanged = before?.status === "False";
  const condition = {
    ...before,
    type: conditionType,
    status: "False",
    observedGeneration: status.observedGeneration ?? 0,
    lastTransitionTime: isUnchanged ? before.lastTransitionTime : timestamp(now),
    reason: "InsufficientPods",
    message: "",
  };
  if (index < 0) status.conditions.push(condition);
  else status.conditions[index] = condition;
}

/**
 * 429 with the budget as cause: `unobserved` if the disruption controller has not processed the budget
 * yet (Retry-After: 10), otherwise the status that does not allow a disruption.
 */
export function violation(
  name: string,
  cause: "unobserved" | { readonly status: any },
): StatusError {
  const isUnobserved = cause === "unobserved";
  const message = isUnobserved
    ? `The disruption budget ${name} is still being processed by the server.`
    : notAllowedMessage(name, cause.status);
  const error = tooManyRequests(
    "Cannot evict pod as it would violate the pod's disruption budget.",
    isUnobserved ? 10 : 0,
  );
  const details = { causes: [{ reason: "DisruptionBudget", message }], ...error.status.details };
  return new StatusError({ ...error.status, details }, error.headers);
}

function notAllowedMessage(name: string, status: any): string {
  const failed = (status.conditions ?? []).find(
    ({ type, reason }: any) => type === conditionType && reason === "SyncFailed",
  );
  if (failed !== undefined) {
    const reason = `because it failed sync: ${failed.message}`;
    return `The disruption budget ${name} does not allow evicting pods currently ${reason}`;
  }
  const { desiredHealthy, currentHealthy } = status;
  const needs = `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return `The disruption budget ${name} ${needs}`;
}

export function multipleBudgets(): StatusError {
  return plainFailure(
    "This pod has more than one PodDisruptionBudget, " +
      "which the eviction subresource does not support.",
  );
}
