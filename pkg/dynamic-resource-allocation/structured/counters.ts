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
  /** Remaining counters of each slice that the search has used. */
  private readonly remaining = new Map<ResourceSlice, Counters>();

  constructor(private readonly available: AvailableCounters) {}

  /** Consumes the counters of a device; returns false if one is insufficient. */
  add(device: Device, slice: ResourceSlice): boolean {
    let remaining = this.remaining.get(slice);
    if (remaining === undefined) {
      remaining = new Map(this.available.of(slice));
      this.remaining.set(slice, remaining);
    }
    change(remaining, device, -1);
    const isSufficient = [...remaining.values()].every(
      (amount) => amount.compare(Quantity.zero) >= 0,
    );
    if (!isSufficient) change(remaining, device, 1);
    return isSufficient;
  }

  /** Reverts a successful `add`. */
  remove(device: Device, slice: ResourceSlice): void {
    change(this.remaining.get(slice)!, device, 1);
  }
}

function countersOf(sets: readonly CounterSet[]): Counters {
  const counters: Counters = new Map();
  for (const { name: set, counters: ofSet = {} } of sets) {
    for (const [name, { value }] of Object.entries(ofSet)) {
      counters.set(`${set}/${name}`, Quantity.parse(value));
    }
  }
  return counters;
}

/** Adds or subtracts what the device consumes; ignores counters that the slice does not have. */
function change(counters: Counters, { consumesCounters = [] }: Device, by: 1 | -1): void {
  for (const { counterSet, counters: ofSet = {} } of consumesCounters) {
    for (const [name, { value }] of Object.entries(ofSet)) {
      const key = `${counterSet}/${name}`;
      const available = counters.get(key);
      if (available === undefined) continue;
      const amount = Quantity.parse(value);
      counters.set(key, by > 0 ? available.add(amount) : available.subtract(amount));
    }
  }
}
