import { ipFamily } from "#base";
import { isHeadless, needsClusterIp, type Service } from "#api";
import { internalError, invalid } from "#meta";
import { Path, Problems } from "#schema";
import type {
  ResourceRequest,
  AdmissionAttributes,
  Reservation,
  Allocator,
  ServiceNetwork,
} from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { canonicalAddress } from "./address-range.ts";
import { AddressFault, ClusterAddresses, type Owner } from "./cluster-addresses.ts";
import { PortLedger } from "./port-ledger.ts";
import { AllocatedPorts, DryRunPorts } from "./port-operation.ts";
import { planPorts, portsOf } from "./service-ports.ts";

/** IP families of the service addresses, the preferred one first. */
export function familiesOf({ cidrs }: ServiceNetwork): readonly string[] {
  return cidrs.map(ipFamily);
}

const nothing: Reservation = { commit: async () => undefined, cancel: async () => undefined };

/** Allocates cluster IPs and node ports of Services. */
export class ServiceAllocator implements Allocator {
  readonly addresses: ClusterAddresses;
  readonly ports: PortLedger;

  constructor(
    private readonly registry: RegistryContext,
    network: ServiceNetwork,
  ) {
    this.addresses = new ClusterAddresses(registry, network.cidrs);
    this.ports = new PortLedger(registry, network.nodePorts);
  }

  async reserve({ request, object, old, dryRun }: AdmissionAttributes): Promise<Reservation> {
    if (request.subresource !== "") return nothing;
    const service: Service = object;
    const owner = ownerOf(request, service);
    const taken = await this.reserveAddresses(service, { old, owner, dryRun });
    try {
      const ports = await this.reservePorts(service, old, dryRun);
      if (dryRun) return nothing;
      const dropped = {
        addresses: without(addressesOf(old), addressesOf(service)),
        ports: without(portsOf(old), portsOf(service)),
      };
      return {
        commit: () => this.giveBack(owner, dropped),
        cancel: () => this.giveBack(owner, { addresses: taken, ports }),
      };
    } catch (error) {
      if (!dryRun) await this.giveBack(owner, { addresses: taken, ports: [] });
      throw error;
    }
  }

  release(request: ResourceRequest, object: Service): Promise<void> {
    const held = { addresses: addressesOf(object), ports: portsOf(object) };
    return this.giveBack(ownerOf(request, object), held);
  }

  private async giveBack(owner: Owner, { addresses, ports }: Held): Promise<void> {
    for (const address of addresses) await this.addresses.giveBack(address, owner);
    if (ports.length === 0) return;
    await this.ports.change((set) => ports.forEach((port) => set.delete(port)));
  }

  /** Sets the cluster IPs of the service; returns the newly allocated ones. */
  private async reserveAddresses(
    service: Service,
    { old, owner, dryRun }: Before & { readonly owner: Owner; readonly dryRun: boolean },
  ): Promise<readonly string[]> {
    const { spec } = service;
    if (!needsClusterIp(service) || isHeadless(service)) return [];
    const held = new Set(addressesOf(old));
    const given = spec.clusterIPs ?? [];
    const taken: string[] = [];
    const all: string[] = [];
    try {
      for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
        const wanted = given[index];
        const isOwn = wanted !== undefined && held.has(canonicalAddress(wanted) ?? wanted);
        if (!isOwn) taken.push(await this.takeOne(service, { wanted, family, owner, dryRun }));
        all.push(wanted ?? taken.at(-1)!);
      }
    } catch (error) {
      if (!dryRun) await this.giveBack(owner, { addresses: taken, ports: [] });
      throw error;
    }
    if (all.length > 0) {
      spec.clusterIPs = all;
      spec.clusterIP = all[0]!;
    }
    return taken;
  }

  private async takeOne(
    service: Service,
    { wanted, family, owner, dryRun }: WantedAddress,
  ): Promise<string> {
    try {
      if (dryRun) return await this.addresses.tryOut(wanted, family);
      return wanted === undefined
        ? await this.addresses.takeAny(family, owner)
        : await this.addresses.takeGiven(wanted, owner);
    } catch (error) {
      if (!(error instanceof AddressFault)) throw error;
      if (wanted === undefined) {
        throw internalError(`failed to allocate a serviceIP: ${error.message}`);
      }
      const problems = new Problems();
      const detail = `failed to allocate IP ${wanted}: ${error.message}`;
      problems.invalid(Path.of("spec.clusterIPs"), service.spec.clusterIPs, detail);
      throw invalid({ group: "", kind: "Service" }, owner.name, problems);
    }
  }

  /** Sets the node ports of the service; returns the newly allocated ones. */
  private async reservePorts(
    service: Service,
    old: Service | undefined,
    dryRun: boolean,
  ): Promise<readonly number[]> {
    const { spec } = service;
    if (spec.type !== "NodePort" && spec.type !== "LoadBalancer") return [];
    const below = (limit: number) => Math.floor(this.registry.identities.chance() * limit);
    const plan = dryRun
      ? planPorts(new DryRunPorts(await this.ports.stored()), service, old)
      : await this.ports.change((set) => planPorts(new AllocatedPorts(set, below), service, old));
    for (const [index, port] of (spec.ports ?? []).entries()) {
      const chosen = plan.nodePorts[index] ?? 0;
      if (chosen !== 0) port.nodePort = chosen;
    }
    if (plan.healthCheck !== 0) spec.healthCheckNodePort = plan.healthCheck;
    return plan.taken;
  }
}

interface Before {
  readonly old: Service | undefined;
}

interface Held {
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
}

interface WantedAddress {
  /** Requested address; undefined = any. */
  readonly wanted: string | undefined;
  readonly family: string;
  readonly owner: Owner;
  readonly dryRun: boolean;
}

function ownerOf({ namespace }: ResourceRequest, { metadata }: Service): Owner {
  return { namespace: metadata.namespace ?? namespace, name: metadata.name ?? "" };
}

/** The cluster IPs of a service, in canonical form. */
export function addressesOf(service: Service | undefined): readonly string[] {
  if (service === undefined || !needsClusterIp(service)) return [];
  const all = service.spec.clusterIPs ?? [];
  return all.map(canonicalAddress).filter((address) => address !== undefined);
}

function without<T>(all: readonly T[], kept: readonly T[]): readonly T[] {
  return all.filter((each) => !kept.includes(each));
}
