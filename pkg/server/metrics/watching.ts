import { memoize } from "#base";
import type { Resource } from "#meta";
import { watchMetrics } from "./definitions.ts";
import type { ServerInstruments } from "./instruments.ts";

/** Called with the number and size in bytes of events that are sent together to one watch. */
export type WatchCounter = (events: number, bytes: number) => void;

/** Counts the events of watches, by resource. */
export class WatchMetrics {
  readonly of: (resource: Resource) => WatchCounter;
  /** Observes the seconds from the commit of a change to its delivery. */
  readonly delivery: (resource: Resource) => (seconds: number) => void;
  /** A watch was ended because its client took nothing. */
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
    this.of = memoize(({ group, version, plural }: Resource): WatchCounter => {
      const labels = [group, version, plural];
      const total = events.with(labels);
      const size = sizes.with(labels);
      return (count, bytes) => {
        total.value += count;
        for (let rest = count; rest > 0; rest--) size.observe(bytes / count);
      };
    });
  }
}
