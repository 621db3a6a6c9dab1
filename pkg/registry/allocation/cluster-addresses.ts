import type { Resource } from "#meta";
import { groupVersionOf, resolve } from "#meta";
import type { RegistryContext } from "../context.ts";
import { timestamp } from "../write/metadata.ts";
import { encodeStored, StoredItem } from "../codec/stored.ts";
import { AddressRange, canonicalAddress } from "./address-range.ts";

/** Service that an address is allocated to. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
}

/** Failed allocation; clients receive the message. */
export class AddressFault extends Error {
  override readonly name = "AddressFault";
}

/** Random attempts before all allocated addresses are listed. */
const randomAttempts = 4;

/**
 * Cluster IPs of Services. Each allocated address is an IPAddress object of that name (KEP-1880), whose
 * creation is an atomic allocation across all replicas.
 */
export class ClusterAddresses {
  constructor(
    private readonly registry: RegistryContext,
    /** CIDRs of a cluster without ServiceCIDR objects. */
    private readonly configured: readonly string[],
  ) {}

  /** Allocates the given address. Throws AddressFault. */
  async takeGiven(given: string, owner: Owner): Promise<string> {
    const address = canonicalAddress(given);
    const ranges = await this.ranges();
    if (address === undefined || !ranges.some((range) => range.contains(address))) {
      throw new AddressFault("the provided network does not match the current range");
    }
    if (await this.take(address, owner)) return address;
    throw new AddressFault("provided IP is already allocated");
  }

  /** Allocates any address of the family. Throws AddressFault if none is free. */
  async takeAny(family: string, owner: Owner): Promise<string> {
    for (const range of await this.rangesOf(family)) {
      const address =
        (await this.takeRandom(range, owner)) ?? (await this.takeUnallocated(range, owner));
      if (address !== undefined) return address;
    }
    throw new AddressFault("range is full");
  }

  /**
   * The address that a dry run answers: `wanted` if it is in the range, allocated or not, and the network
   * address for undefined, as with kube-apiserver's dryRunAllocator. Throws AddressFault.
   */
  async tryOut(wanted: string | undefined, family: string): Promise<string> {
    const [range] = await this.rangesOf(family);
    if (range === undefined) throw new AddressFault("allocator not ready");
    if (wanted === undefined) return range.network;
    if (range.contains(wanted)) return wanted;
    const address = canonicalAddress(wanted) ?? wanted;
    throw new AddressFault(
      `the provided IP (${address}) is not in the valid range. ` +
        `The range of valid IPs is ${range.cidr}`,
    );
  }

  /** Releases the address; one that belongs to another owner stays. */
  async giveBack(address: string, owner: Owner): Promise<void> {
    const { store } = this.registry;
    const name = canonicalAddress(address);
    if (name === undefined) return;
    const resource = this.resource;
    let { entry } = await store.get(`${resource.keyPrefix}${name}`);
    while (entry !== undefined) {
      const { object } = new StoredItem(this.registry, { resource, subresource: "" }, entry);
      if (!isOwnedBy(object, owner)) return;
      const outcome = await store.delete(entry.key, entry.modRevision);
      if (outcome.done) return;
      entry = outcome.current;
    }
  }

  /** The IPAddresses that API servers allocated to Services. */
  async taken(): Promise<readonly StoredItem[]> {
    const resource = this.resource;
    const { entries } = await this.registry.store.list(resource.keyPrefix, {});
    return entries
      .map((entry) => new StoredItem(this.registry, { resource, subresource: "" }, entry))
      .filter(({ object }) => object.metadata.labels?.[this.labels.manager] === this.labels.self);
  }

  /** Allocates an address without a range check; false if it is allocated already. */
  async take(address: string, owner: Owner): Promise<boolean> {
    const { store } = this.registry;
    const key = `${this.resource.keyPrefix}${address}`;
    const object = this.objectOf(address, owner);
    const value = encodeStored(this.registry, this.resource, object);
    return (await store.create(key, value)) !== undefined;
  }

  private async takeRandom(range: AddressRange, owner: Owner): Promise<string | undefined> {
    const upper = range.count - range.lower;
    for (let tried = 0; tried < Math.min(randomAttempts, upper); tried++) {
      const address = range.at(range.lower + this.below(upper));
      if (await this.take(address, owner)) return address;
    }
    return undefined;
  }

  /** Allocates the first unallocated address after a random one, in the upper band and then the lower. */
  private async takeUnallocated(range: AddressRange, owner: Owner): Promise<string | undefined> {
    const { keyPrefix } = this.resource;
    const { entries } = await this.registry.store.list(keyPrefix, {});
    const used = new Set(entries.map(({ key }) => key.slice(keyPrefix.length)));
    const bands = [
      { from: range.lower, count: range.count - range.lower },
      { from: 0, count: range.lower },
    ];
    for (const { from, count } of bands.filter((band) => band.count > 0)) {
      const start = this.below(count);
      for (let step = 0; step < count; step++) {
        const address = range.at(from + ((start + step) % count));
        if (!used.has(address) && (await this.take(address, owner))) return address;
      }
    }
    return undefined;
  }

  private below(limit: number): number {
    return Math.floor(this.registry.identities.chance() * limit);
  }

  private objectOf(address: string, { namespace, name }: Owner): unknown {
    const { identities, clock } = this.registry;
    const { manager, self, family } = this.labels;
    return {
      metadata: {
        name: address,
        uid: identities.uid(),
        creationTimestamp: timestamp(clock.now()),
        labels: { [family]: address.includes(":") ? "IPv6" : "IPv4", [manager]: self },
      },
      spec: { parentRef: { resource: "services", namespace, name } },
    };
  }

  private get labels() {
    const { domain } = this.registry.catalog;
    return {
      manager: resolve("ipaddress.{label}/managed-by", domain),
      self: resolve("ipallocator.{api}", domain),
      family: resolve("ipaddress.{label}/ip-family", domain),
    };
  }

  private get resource(): Resource {
    const resource = this.networking("IPAddress");
    if (resource === undefined) throw new Error("the catalog has addresses");
    return resource;
  }

  private networking(kind: string): Resource | undefined {
    const { catalog } = this.registry;
    const group = resolve("networking.{api}", catalog.domain);
    return catalog.findKind(groupVersionOf(group, "v1"), kind);
  }

  /** The ranges of ready ServiceCIDRs, or the configured ones if there are none. */
  private async ranges(): Promise<readonly AddressRange[]> {
    const networks = await this.serviceCidrs();
    const cidrs = networks.length === 0 ? this.configured : networks.flatMap(usableCidrs);
    return cidrs.map((cidr) => AddressRange.parse(cidr)).filter((range) => range !== undefined);
  }

  private async rangesOf(family: string): Promise<readonly AddressRange[]> {
    return (await this.ranges()).filter((range) => range.family === family);
  }

  private async serviceCidrs(): Promise<readonly any[]> {
    const resource = this.networking("ServiceCIDR");
    if (resource === undefined) return [];
    const { entries } = await this.registry.store.list(resource.keyPrefix, {});
    return entries.map(
      (entry) => new StoredItem(this.registry, { resource, subresource: "" }, entry).object,
    );
  }
}

function usableCidrs({ metadata, spec, status }: any): readonly string[] {
  const isReady = (status?.conditions ?? []).some(
    (condition: any) => condition.type === "Ready" && condition.status === "True",
  );
  return isReady && !metadata.deletionTimestamp ? (spec.cidrs ?? []) : [];
}

export function isOwnedBy({ spec }: any, { namespace, name }: Owner): boolean {
  const { resource, ...parent } = spec.parentRef ?? {};
  return resource === "services" && parent.namespace === namespace && parent.name === name;
}
