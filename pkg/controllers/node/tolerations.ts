/** Toleration times of NoExecute taints. */
import { type Taint, type Toleration, toleratesTaint } from "#kinds";

/**
 * Milliseconds for which a pod tolerates all taints: 0 = not all are tolerated, Infinity = forever. For each
 * taint the first matching toleration counts.
 */
export function toleratedMs(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  let shortest = Infinity;
  for (const taint of taints) {
    const match = tolerations.find((toleration) => toleratesTaint(toleration, taint));
    if (match === undefined) return 0;
    const { tolerationSeconds } = match;
    if (tolerationSeconds === undefined) continue;
    shortest = Math.min(shortest, Math.max(0, Number(tolerationSeconds) * 1000));
  }
  return shortest;
}
