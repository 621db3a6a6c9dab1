import { timestamp } from "../write/metadata.ts";

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Sets a condition of a pod in place; lastTransitionTime changes only with its status. */
export function setPodCondition(pod: any, condition: PodCondition, now: number): void {
  pod.status.conditions ??= [];
  const { conditions } = pod.status;
  const index = conditions.findIndex(({ type }: PodCondition) => type === condition.type);
  const before = conditions[index];
  const lastTransitionTime =
    before?.status === condition.status ? before.lastTransitionTime : timestamp(now);
  const next = { lastProbeTime: null, ...condition, lastTransitionTime };
  if (index < 0) conditions.push(next);
  else conditions[index] = next;
}

export function isReady(pod: any): boolean {
  const conditions: readonly PodCondition[] = pod.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
