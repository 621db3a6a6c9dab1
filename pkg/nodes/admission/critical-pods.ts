/** Pods that a kubelet does not evict, and for which it makes room. */
import { type Pod, priorityOf } from "#kinds";
import { type Domain, resolve } from "#meta";

/** Priority from which pods are critical: system-cluster-critical. */
const criticalPriority = 2_000_000_000;

/** Whether a pod comes from a file of its node, or mirrors one that does. */
export function isStaticPod({ metadata: { annotations } }: Pod, domain: Domain): boolean {
  if (annotations === undefined) return false;
  const source = annotations[resolve("{label}/config.source", domain)];
  const mirror = annotations[resolve("{label}/config.mirror", domain)];
  return (source !== undefined && source !== "api") || mirror !== undefined;
}

export function isCriticalPod(pod: Pod, domain: Domain): boolean {
  return priorityOf(pod) >= criticalPriority || isStaticPod(pod, domain);
}

/** Whether a kubelet may end `victim` to make room for `pod`. */
export function mayPreempt(pod: Pod, victim: Pod, domain: Domain): boolean {
  if (isCriticalPod(pod, domain) && !isCriticalPod(victim, domain)) return true;
  const priorities = [pod, victim].map(({ spec }) => spec?.priority);
  const [own, other] = priorities;
  return own !== undefined && other !== undefined && own > other;
}
