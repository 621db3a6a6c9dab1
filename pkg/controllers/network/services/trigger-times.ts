import { objectKey } from "#client";
import type { Pod, Service } from "#kinds";
import { conditionOf } from "../../pods/pod-state.ts";

interface Known {
  readonly service: number;
  /** Time of the last readiness change, by pod name. */
  readonly pods: ReadonlyMap<string, number>;
}

/**
 * Times of the changes that trigger endpoint changes, for the annotation `last-change-trigger-time` (latency
 * of network programming). All times are in milliseconds since 1970.
 */
export class TriggerTimes {
  private readonly known = new Map<string, Known>();

  /** Earliest change since the last call; undefined = none. */
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

/** RFC 3339; a fraction only if not zero. */
export function formatTriggerTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0+Z$/, "Z");
}
