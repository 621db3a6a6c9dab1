import type { Service } from "#api";
import { assert } from "#base";
import type { RegistryContext } from "../context.ts";
import { StoredItem } from "../codec/stored.ts";
import { type Owner, isOwnedBy } from "./cluster-addresses.ts";
import { addressesOf, ServiceAllocator } from "./service-allocator.ts";
import { portsOf } from "./service-ports.ts";
import type { RepairReport } from "../contract.ts";

/** Age in ms after which an allocated address without a service counts as leaked. */
const leakedAfterMs = 60_000;

/** Consecutive runs without a service after which an allocated port counts as leaked. */
const leakedAfterRounds = 3;

/**
 * The repair loop: compares Services with the allocated addresses and ports. A replica that crashes
 * between reserve and write, or write and release, leaks allocations; a restored backup may lack
 * allocations of Services.
 */
class ServiceRepair {
  /** Consecutive runs without a service, by port. */
  private suspects: ReadonlyMap<number, number> = new Map();

  constructor(
    private readonly registry: RegistryContext,
    private readonly allocator: ServiceAllocator,
  ) {}

  /** Runs the repair once. */
  async run(): Promise<RepairReport> {
    // Read before the services, so that later allocations are not considered.
    const taken = await this.allocator.addresses.taken();
    const ports = await this.allocator.ports.change((set) => set.ports());
    const services = await this.services();
    const addresses = await this.repairAddresses(services, taken);
    return { ...addresses, ...(await this.repairPorts(services, ports)) };
  }

  private async services(): Promise<readonly Service[]> {
    const resource = this.registry.catalog.find("", "v1", "services");
    assert(resource !== undefined, "the catalog has services");
    const { entries } = await this.registry.store.list(resource.keyPrefix, {});
    const target = { resource, subresource: "" };
    return entries.map((entry) => new StoredItem(this.registry, target, entry).object);
  }

  private async repairAddresses(services: readonly Service[], taken: readonly StoredItem[]) {
    const { addresses } = this.allocator;
    const missingAddresses: string[] = [];
    const leakedAddresses: string[] = [];
    const conflicts: string[] = [];
    const byAddress = new Map(taken.map(({ object }) => [object.metadata.name as string, object]));
    const users = new Map<string, Owner>();
    for (const service of services) {
      const owner = ownerOf(service);
      for (const address of addressesOf(service)) {
        const other = users.get(address);
        const holder = byAddress.get(address);
        if (other !== undefined || (holder !== undefined && !isOwnedBy(holder, owner))) {
          conflicts.push(`${address} of ${owner.namespace}/${owner.name}`);
        } else if (holder === undefined && (await addresses.take(address, owner))) {
          missingAddresses.push(address);
        }
        users.set(address, other ?? owner);
      }
    }
    for (const object of byAddress.values()) {
      const { name, creationTimestamp } = object.metadata;
      const user = users.get(name);
      const age = this.registry.clock.now() - Date.parse(creationTimestamp ?? 0);
      if (user !== undefined || age < leakedAfterMs) continue;
      const { namespace = "", name: of = "" } = object.spec.parentRef ?? {};
      await addresses.giveBack(name, { namespace, name: of });
      leakedAddresses.push(name);
    }
    return { missingAddresses, leakedAddresses, conflicts };
  }

  private async repairPorts(services: readonly Service[], taken: readonly number[]) {
    const { ports } = this.allocator;
    const used = new Set(services.flatMap((service) => portsOf(service)));
    const known = new Set(taken);
    const idle = taken.filter((port) => !used.has(port));
    const suspects = new Map(idle.map((port) => [port, (this.suspects.get(port) ?? 0) + 1]));
    const leakedPorts = idle.filter((port) => suspects.get(port)! >= leakedAfterRounds);
    const missing = [...used].filter((port) => !known.has(port));
    const missingPorts = await ports.change((set) => {
      leakedPorts.forEach((port) => set.delete(port));
      const added = missing.filter((port) => set.inRange(port) && !set.has(port));
      added.forEach((port) => set.add(port));
      return added;
    });
    leakedPorts.forEach((port) => suspects.delete(port));
    this.suspects = suspects;
    return { missingPorts, leakedPorts };
  }
}

/** The repair loop of the registry's service allocator; undefined without a service network. */
export function repairOf(registry: RegistryContext): ServiceRepair | undefined {
  for (const allocator of registry.allocators.values()) {
    if (allocator instanceof ServiceAllocator) return new ServiceRepair(registry, allocator);
  }
  return undefined;
}

function ownerOf({ metadata }: Service): Owner {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
}
