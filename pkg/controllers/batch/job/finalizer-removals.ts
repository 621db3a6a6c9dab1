import { type Informer, objectKey } from "#client";
import type { Pod } from "#kinds";
import { controllerOf } from "../../owners/controller-ref.ts";
import type { JobNames } from "./job-names.ts";
import { hasTrackingFinalizer } from "./job-pods.ts";

/**
 * Pods that have lost their tracking finalizer, which the informer has yet to show. Until it does,
 * the pod in the cache looks as if its finish were not counted.
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

  isAwaited({ metadata }: Pod): boolean {
    return this.uids.has(metadata.uid);
  }

  /** UIDs of those of the pods that have lost their finalizer. */
  awaitedOf(pods: readonly Pod[]): ReadonlySet<string> {
    const awaited = pods.filter((pod) => this.isAwaited(pod));
    return new Set(awaited.map(({ metadata }) => metadata.uid));
  }

  /** Called before the finalizers are removed. */
  expect(pods: readonly Pod[]): void {
    for (const { metadata } of pods) this.uids.add(metadata.uid);
  }

  /** Called when the finalizer is gone; the informer may have shown that before `expect`. */
  succeeded(pod: Pod): void {
    const { uid } = pod.metadata;
    const shown = this.pods.get(objectKey(pod));
    if (shown?.metadata.uid !== uid || this.isRemoved(shown)) this.uids.delete(uid);
  }

  failed({ metadata }: Pod): void {
    this.uids.delete(metadata.uid);
  }

  /** An orphan lacks the finalizer because its adoption does not show yet, either. */
  private isRemoved(pod: Pod): boolean {
    return !hasTrackingFinalizer(pod, this.names) && controllerOf(pod) !== undefined;
  }
}
