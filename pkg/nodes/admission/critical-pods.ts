/** Critical pods, which a kubelet does not evict and for which it preempts others. */
import { type Pod, priorityOf } from "#kinds";
import { type Domain, resolve } from "#meta";

/** Minimum priority of critical pods: system-cluster-critical. */
const criticalPriority = 2_000_000_000;

/** Whether a pod is a static pod or a mirror pod. */
export function isStaticPod({ metadata: { annotations } }: Pod, domain: Domain): boolean {
  if (annotations === undefined) return false;
  const source = annotations[resolve("{label}/config.source", domain)];
  const mirror = annotations[resolve("{label}/config.mirror", domain)];
  return (source !== undefined && source !== "api") || mirror !== undefined;
}

export function isCriticalPod(pod: Pod, domain: Domain): boolean {
  return priorityOf(pod) >= criticalPriority || isStaticPod(pod, domain);
}

/** Whether a kubelet may preempt `victim` in favor of `pod`. */
export function mayPreempt(pod: Pod, victim: Pod, domain: Domain): boolean {
  if (isCriticalPod(pod, domain) && !isCriticalPod(victim, domain)) return true;
  const priorities = [pod, victim].map(({ spec }) => spec?.priority);
  const [own, other] = priorities;
  return own !== undefined && other !== undefined && own > other;
}
