/** Allocated devices, and features of the allocator. */
import { Quantity } from "#meta";
import type { AllocatedDevice, AllocationResult, DeviceIdentity } from "#kinds";

/** Allocator features and their feature gates. */
export interface AllocatorFeatures {
  /** DRAAdminAccess */
  readonly adminAccess: boolean;
  /** DRAPrioritizedList */
  readonly prioritizedList: boolean;
  /** DRAPartitionableDevices */
  readonly partitionableDevices: boolean;
  /** DRADeviceTaints */
  readonly deviceTaints: boolean;
  /** DRAConsumableCapacity */
  readonly consumableCapacity: boolean;
}

/** Features enabled by feature gates. */
export function allocatorFeatures(gate: (name: string) => boolean): AllocatorFeatures {
  return {
    adminAccess: gate("DRAAdminAccess"),
    prioritizedList: gate("DRAPrioritizedList"),
    partitionableDevices: gate("DRAPartitionableDevices"),
    deviceTaints: gate("DRADeviceTaints"),
    consumableCapacity: gate("DRAConsumableCapacity"),
  };
}

/** Key of a device: driver, pool and name. */
export function deviceIdOf({ driver, pool, device }: DeviceIdentity): string {
  return `${driver}/${pool}/${device}`;
}

/** Amounts by name. */
export type Amounts = Map<string, Quantity>;

/** Devices and capacity of allocated claims. An allocation must be removed with the value that was added. */
export class AllocatedState {
  /** Number of claims per device; more than one only if other clients wrote claims. */
  private readonly holders = new Map<string, number>();
  private readonly consumed = new Map<string, Amounts>();

  /** Whether a claim has the device to itself. */
  has(deviceId: string): boolean {
    return this.holders.has(deviceId);
  }

  /** Consumed capacity of a shared device. */
  consumedOf(deviceId: string): ReadonlyMap<string, Quantity> | undefined {
    return this.consumed.get(deviceId);
  }

  add(allocation: AllocationResult): void {
    this.change(allocation, 1);
  }

  remove(allocation: AllocationResult): void {
    this.change(allocation, -1);
  }

  private change({ devices }: AllocationResult, by: 1 | -1): void {
    for (const each of devices?.results ?? []) {
      // Admin access does not occupy the device.
      if (each.adminAccess === true) continue;
      if (each.shareID === undefined) this.hold(deviceIdOf(each), by);
      else this.consume(each, by);
    }
  }

  private hold(id: string, by: 1 | -1): void {
    const count = (this.holders.get(id) ?? 0) + by;
    if (count > 0) this.holders.set(id, count);
    else this.holders.delete(id);
  }

  private consume(device: AllocatedDevice, by: 1 | -1): void {
    const id = deviceIdOf(device);
    const amounts = this.consumed.get(id) ?? new Map<string, Quantity>();
    for (const [name, text] of Object.entries(device.consumedCapacity ?? {})) {
      addAmount(amounts, name, by > 0 ? Quantity.parse(text) : Quantity.parse(text).negate());
    }
    const isEmpty = [...amounts.values()].every((amount) => amount.equals(Quantity.zero));
    if (isEmpty) this.consumed.delete(id);
    else this.consumed.set(id, amounts);
  }
}

/** Adds to the amount with this name. */
export function addAmount(amounts: Amounts, name: string, amount: Quantity): void {
  amounts.set(name, (amounts.get(name) ?? Quantity.zero).add(amount));
}
