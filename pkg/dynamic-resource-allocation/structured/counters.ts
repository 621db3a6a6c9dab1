import { Quantity } from "#meta";
import type { CounterSet, Device, ResourceSlice } from "#kinds";
import { type AllocatedState, deviceIdOf } from "./state.ts";

/** Counters of a slice, by `set/counter`. */
type Counters = Map<string, Quantity>;

/** Shared counters of slices, less those consumed by allocated devices. */
export class AvailableCounters {
  private readonly bySlice = new Map<ResourceSlice, Counters>();

  constructor(private readonly allocated: AllocatedState) {}

  /** Available counters before the search; may be negative. */
  of(slice: ResourceSlice): ReadonlyMap<string, Quantity> {
    const known = this.bySlice.get(slice);
    if (known !== undefined) return known;
    const { sharedCounters = [], driver, pool, devices } = slice.spec;
    const available = countersOf(sharedCounters);
    for (const device of devices ?? []) {
      const id = deviceIdOf({ driver, pool: pool.name, device: device.name });
      if (this.allocated.has(id)) change(available, device, -1);
    }
    this.bySlice.set(slice, available);
    return available;
  }
}

/** Counters consumed by the devices of one search. */
export class ConsumedCounters {
  private readonly left = new Map<ResourceSlice, Counters>();

  constructor(private readonly available: AvailableCounters) {}

  /** Consumes the counters of a device; returns false if one is insufficient. */
  add(device: Device, slice: ResourceSlice): boolean {
    let left = this.left.get(slice);
    if (left === undefined) this.left.set(slice, (left = new Map(this.available.of(slice))));
    change(left, device, -1);
    const isEnough = [...left.values()].every((amount) => amount.compare(Quantity.zero) >= 0);
    if (!isEnough) change(left, device, 1);
    return isEnough;
  }

  remove(device: Device, slice: ResourceSlice): void {
    change(this.left.get(slice)!, device, 1);
  }
}

function countersOf(sets: readonly CounterSet[]): Counters {
  const counters: Counters = new Map();
  for (const { name: set, counters: own = {} } of sets) {
    for (const [name, { value }] of Object.entries(own)) {
      counters.set(`${set}/${name}`, Quantity.parse(value));
    }
  }
  return counters;
}

/** Adds to the known counters of a slice. */
function change(counters: Counters, { consumesCounters = [] }: Device, by: 1 | -1): void {
  for (const { counterSet, counters: own = {} } of consumesCounters) {
    for (const [name, { value }] of Object.entries(own)) {
      const key = `${counterSet}/${name}`;
      const left = counters.get(key);
      if (left === undefined) continue;
      const amount = Quantity.parse(value);
      counters.set(key, by > 0 ? left.add(amount) : left.subtract(amount));
    }
  }
}
