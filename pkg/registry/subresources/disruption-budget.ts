import { forbidden, plainFailure, StatusError, tooManyRequests } from "#meta";
import { timestamp } from "../write/metadata.ts";

/**
 * What an eviction takes from a disruption budget. The controller that keeps the budget counts the
 * pods; in between, evictions note here what they took, so that they cannot all take the same.
 */

/** Evictions that the controller has not yet seen; above that something is wrong with it. */
const mostDisrupted = 2000;

/**
 * Takes one disruption for the pod, in place. Throws 429 when the budget allows none, or is not up
 * to date.
 */
export function takeFrom(budget: any, pod: string, now: number): void {
  const { metadata, status } = budget;
  const { name } = metadata;
  if (BigInt(status.observedGeneration ?? 0) < BigInt(metadata.generation ?? 0)) {
    throw violation(name, "busy");
  }
  if (status.disruptionsAllowed < 0) throw refused(name, "pdb disruptions allowed is negative");
  if (Object.keys(status.disruptedPods ?? {}).length > mostDisrupted) {
    const why = "too many evictions not confirmed by PDB controller";
    throw refused(name, `DisruptedPods map too big - ${why}`);
  }
  if (status.disruptionsAllowed === 0) throw violation(name, { status });
  status.disruptionsAllowed -= 1;
  if (status.disruptionsAllowed === 0) noteExhausted(status, now);
  const disrupted = { __proto__: null, ...status.disruptedPods, [pod]: timestamp(now) };
  status.disruptedPods = disrupted;
}

function refused(name: string, why: string): StatusError {
  return forbidden({ group: "policy", plural: "poddisruptionbudget" }, name, why);
}

const conditionType = "DisruptionAllowed";

function noteExhausted(status: any, now: number): void {
  status.conditions ??= [];
  const at = status.conditions.findIndex(({ type }: any) => type === conditionType);
  const before = status.conditions[at];
  const stays = before?.status === "False";
  const condition = {
    ...before,
    type: conditionType,
    status: "False",
    observedGeneration: status.observedGeneration ?? 0,
    lastTransitionTime: stays ? before.lastTransitionTime : timestamp(now),
    reason: "InsufficientPods",
    message: "",
  };
  if (at < 0) status.conditions.push(condition);
  else status.conditions[at] = condition;
}

/** 429, with the budget's reason. `busy`: it is not up to date, ask again soon. */
export function violation(name: string, why: "busy" | { readonly status: any }): StatusError {
  const busy = why === "busy";
  const message = busy
    ? `The disruption budget ${name} is still being processed by the server.`
    : shortage(name, why.status);
  const error = tooManyRequests(
    "Cannot evict pod as it would violate the pod's disruption budget.",
    busy ? 10 : 0,
  );
  const details = { causes: [{ reason: "DisruptionBudget", message }], ...error.status.details };
  return new StatusError({ ...error.status, details }, error.headers);
}

function shortage(name: string, status: any): string {
  const failed = (status.conditions ?? []).find(
    ({ type, reason }: any) => type === conditionType && reason === "SyncFailed",
  );
  if (failed !== undefined) {
    const why = `because it failed sync: ${failed.message}`;
    return `The disruption budget ${name} does not allow evicting pods currently ${why}`;
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
