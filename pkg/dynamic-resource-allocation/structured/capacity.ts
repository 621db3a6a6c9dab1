/** Consumable capacity of shared devices. */
import { Quantity } from "#meta";
import type { CapacityRequestPolicy, Device, DeviceCapacity, DeviceDemand } from "#kinds";

/** Capacity that a request consumes, by name; rounded by the device's request policy. */
export function consumedCapacity(
  { capacity = {} }: Device,
  { capacity: requested }: DeviceDemand,
): ReadonlyMap<string, Quantity> {
  const amounts = Object.entries(capacity).map(([name, each]) => {
    const text = Object.hasOwn(requested?.requests ?? {}, name)
      ? requested!.requests![name]
      : undefined;
    return [name, consumedOf(each, text)] as const;
  });
  return new Map(amounts);
}

/** Whether the device has enough free capacity for the request. */
export function hasCapacity(
  device: Device,
  demand: DeviceDemand,
  inUse: readonly (ReadonlyMap<string, Quantity> | undefined)[],
): boolean {
  const { capacity = {} } = device;
  const names = Object.keys(demand.capacity?.requests ?? {});
  if (!names.every((name) => Object.hasOwn(capacity, name))) return false;
  for (const [name, amount] of consumedCapacity(device, demand)) {
    const { value, requestPolicy } = capacity[name]!;
    if (requestPolicy !== undefined && !isAllowed(amount, requestPolicy)) return false;
    const sum = inUse.reduce((all, each) => all.add(each?.get(name) ?? Quantity.zero), amount);
    if (sum.compare(Quantity.parse(value)) > 0) return false;
  }
  return true;
}

/** Amount that a request for `text` consumes; undefined = the request names no amount. */
function consumedOf({ value, requestPolicy }: DeviceCapacity, text: string | undefined): Quantity {
  if (text === undefined) return Quantity.parse(requestPolicy?.default ?? value);
  const requested = Quantity.parse(text);
  const { validRange, validValues } = requestPolicy ?? {};
  if (validRange?.min !== undefined) {
    return roundedUp(requested, Quantity.parse(validRange.min), validRange.step);
  }
  const valid = validValues?.map((each) => Quantity.parse(each));
  return valid?.find((each) => requested.compare(each) <= 0) ?? requested;
}

/** Rounds up to `min` plus a multiple of `step`. */
function roundedUp(requested: Quantity, min: Quantity, step: string | undefined): Quantity {
  if (requested.compare(min) < 0) return min;
  if (step === undefined) return requested;
  const size = stepOf(step);
  const aboveMin = requested.value() - min.value();
  const steps = (aboveMin + size - 1n) / size;
  return Quantity.of(min.value() + steps * size, "BinarySI");
}

/** Whether the request policy allows the amount. */
function isAllowed(amount: Quantity, policy: CapacityRequestPolicy): boolean {
  const { default: defaultValue, validRange, validValues = [] } = policy;
  if (defaultValue !== undefined && amount.equals(Quantity.parse(defaultValue))) return true;
  if (validRange !== undefined) {
    const { min = "0", max, step } = validRange;
    if (max !== undefined && amount.compare(Quantity.parse(max)) > 0) return false;
    if (step === undefined) return true;
    return (amount.value() - Quantity.parse(min).value()) % stepOf(step) === 0n;
  }
  return (
    validValues.length === 0 || validValues.some((each) => amount.equals(Quantity.parse(each)))
  );
}

/** Size of a step; at least 1. */
function stepOf(text: string): bigint {
  const step = Quantity.parse(text).value();
  return step > 0n ? step : 1n;
}
