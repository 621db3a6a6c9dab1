import { objectKey } from "#client";
import type { Pod, Service } from "#kinds";
import { conditionOf } from "../../pods/pod-state.ts";

interface Known {
  readonly service: number;
  /** Time of the last change of readiness by name of the pod. */
  readonly pods: ReadonlyMap<string, number>;
}

/**
 * Times of the changes that cause changes of endpoints, for the annotation that measures how long
 * these take to reach nodes. All times are in milliseconds since 1970.
 */
export class TriggerTimes {
  private readonly known = new Map<string, Known>();

  /** The earliest change since the last call; undefined = there is none. */
  next(service: Service, pods: readonly Pod[]): number | undefined {
    const key = objectKey(service);
    const before = this.known.get(key);
    const created = timeOf(service.metadata.creationTimestamp) ?? 0;
    const times = new Map<string, number>();
    let earliest: number | undefined;
    const take = (time: number) => (earliest = Math.min(earliest ?? time, time));
    for (const pod of pods) {
      const time = timeOf(conditionOf(pod, "Ready")?.lastTransitionTime);
      if (time === undefined) continue;
      const { name } = pod.metadata;
      times.set(name, time);
      if (time > (before?.pods.get(name) ?? -Infinity)) take(time);
    }
    if (created > (before?.service ?? -Infinity)) take(created);
    this.known.set(key, { service: created, pods: times });
    return before === undefined ? created : earliest;
  }

  forget(key: string): void {
    this.known.delete(key);
  }
}

function timeOf(text: string | null | undefined): number | undefined {
  return text === undefined || text === null ? undefined : Date.parse(text);
}

/** RFC 3339, with a fraction only if there is one. */
export function triggerTimeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0+Z$/, "Z");
}
