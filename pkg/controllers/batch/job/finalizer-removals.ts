import { type Informer, objectKey } from "#client";
import type { Pod } from "#kinds";
import { controllerOf } from "../../owners/controller-ref.ts";
import type { JobNames } from "./job-names.ts";
import { hasTrackingFinalizer } from "./job-pods.ts";

/**
 * Expectations of tracking finalizer removals (kube-controller-manager's uidTrackingExpectations): pods whose
 * finalizer was removed, until the informer shows it. Until then the cached pod seems to be uncounted.
 */
export class FinalizerRemovals {
  private readonly uids = new Set<string>();

  constructor(
    private readonly pods: Informer<Pod>,
    private readonly names: JobNames,
  ) {
    pods.subscribe(({ type, object }) => {
      if (type === "deleted" || this.isRemoved(object)) this.uids.delete(object.metadata.uid);
    });
  }

  isExpected({ metadata }: Pod): boolean {
    return this.uids.has(metadata.uid);
  }

  /** UIDs of those pods whose removal the informer has not shown yet. */
  expectedOf(pods: readonly Pod[]): ReadonlySet<string> {
    const awaited = pods.filter((pod) => this.isExpected(pod));
    return new Set(awaited.map(({ metadata }) => metadata.uid));
  }

  /** Called before the finalizers are removed. */
  expect(pods: readonly Pod[]): void {
    for (const { metadata } of pods) this.uids.add(metadata.uid);
  }

  /** Called after the patch; the informer may have shown the removal before `expect`. */
  succeeded(pod: Pod): void {
    const { uid } = pod.metadata;
    const cached = this.pods.get(objectKey(pod));
    if (cached?.metadata.uid !== uid || this.isRemoved(cached)) this.uids.delete(uid);
  }

  failed({ metadata }: Pod): void {
    this.uids.delete(metadata.uid);
  }

  /** Whether the informer shows the removal; an orphan's missing finalizer is a stale cache instead. */
  private isRemoved(pod: Pod): boolean {
    return !hasTrackingFinalizer(pod, this.names) && controllerOf(pod) !== undefined;
  }
}
