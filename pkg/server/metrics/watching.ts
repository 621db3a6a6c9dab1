import { memoize } from "#base";
import type { Resource } from "#meta";
import { watchMetrics } from "./definitions.ts";
import type { ServerInstruments } from "./instruments.ts";

/** Called with the number and total size in bytes of events that are sent to a watch together. */
export type WatchCounter = (events: number, bytes: number) => void;

/** Metrics of watches, by resource. */
export class WatchMetrics {
  /** Counter of the events that are sent. */
  readonly events: (resource: Resource) => WatchCounter;
  /** Observer of the time in seconds from the commit of a change to its delivery. */
  readonly delivery: (resource: Resource) => (seconds: number) => void;
  /** Counts a watch that was closed because its client did not read. */
  readonly terminated: (resource: Resource) => void;

  constructor(instruments: ServerInstruments) {
    const terminated = instruments.family(watchMetrics.terminated);
    this.terminated = ({ group, plural }) => void terminated.with([group, plural]).value++;
    const events = instruments.family(watchMetrics.events);
    const delivery = instruments.family(watchMetrics.delivery);
    this.delivery = memoize(({ group, plural }: Resource) => {
      const histogram = delivery.with([group, plural]);
      return (seconds: number) => histogram.observe(seconds);
    });
    const sizes = instruments.family(watchMetrics.sizes);
    this.events = memoize(({ group, version, plural }: Resource): WatchCounter => {
      const labels = [group, version, plural];
      const total = events.with(labels);
      const size = sizes.with(labels);
      return (count, bytes) => {
        total.value += count;
        size.observe(bytes / count, count);
      };
    });
  }
}
