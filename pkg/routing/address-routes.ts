import { abortable, formatIp, isLoopback, parseIp } from "#base";
import { followStored } from "#client";
import type { Node, Pod } from "#kinds";
import { ignoreNotFound } from "#meta";
import { listAll, loopbackRequest, type Registry, type ServerAccess } from "#registry";
import type { AddressRoute, AddressRouter, ApiAddress, NamespacedName } from "#request";
import { allowedTarget, annotatedTarget } from "./forward-target.ts";
import { portForwardAnnotation, simulatedNodeLabel } from "./simulated.ts";
import { type OwnNodes, SimulatedNodes } from "./simulated-nodes.ts";

export interface AddressRoutesOptions extends Omit<ServerAccess, "registry"> {
  /** Called by the first request: the registry is built with admission, which calls webhooks. */
  readonly registry: () => Registry;
  /** Simulated nodes of this process; undefined = none. */
  readonly own: OwnNodes | undefined;
  /** Address ranges to which annotations of simulated pods may redirect connections. */
  readonly forwardTargets: readonly string[];
}

/**
 * Finds out whether an address was invented by a simulated node. The stored pod with the address decides;
 * what other objects say about it (a `targetRef`, a `nodeName`) can only make it simulated. An address
 * that no stored pod has, but that is in the range of a simulated node, is simulated as well: objects
 * may name the address of a pod that has been deleted.
 */
export class AddressRoutes implements AddressRouter {
  private readonly nodes: SimulatedNodes;
  private synced: Promise<void> | undefined;

  constructor(private readonly options: AddressRoutesOptions) {
    this.nodes = new SimulatedNodes(options.own);
  }

  async route(address: ApiAddress, signal: AbortSignal | undefined): Promise<AddressRoute> {
    const ip = parseIp(address.host);
    const canonical = ip && formatIp(ip);
    if (address.pod !== undefined && canonical !== undefined) {
      const pod = await this.podOf(address.pod, canonical);
      if (pod !== undefined) return this.routeOfPod(pod, address);
    }
    const { kubeletOf } = address;
    if (kubeletOf !== undefined && (await this.hasNoServer(kubeletOf))) {
      return {
        kind: "simulated",
        reason: `the kubelet of simulated node ${kubeletOf} does not listen`,
      };
    }
    await this.follow(signal);
    if (address.node !== undefined && (await this.isInvented(address.node, canonical))) {
      return nothingRuns(`endpoint is on simulated node ${address.node}`);
    }
    if (canonical === undefined || (ip !== undefined && isLoopback(ip))) return ordinary;
    const node = this.nodes.nodeWith(parseIp(canonical)!);
    if (node === undefined) return ordinary;
    const pod = await this.podWith(canonical);
    if (pod !== undefined) return this.routeOfPod(pod, address);
    const range = node === "" ? "simulated pods" : `the pods of simulated node ${node}`;
    return nothingRuns(`${canonical} is an address of ${range}`);
  }

  private async routeOfPod(pod: Pod, { port }: ApiAddress): Promise<AddressRoute> {
    const { spec, metadata } = pod;
    if (!(await this.isSimulated(spec?.nodeName ?? ""))) return ordinary;
    const subject = `endpoint is simulated pod ${metadata.namespace ?? ""}/${metadata.name}`;
    const target = annotatedTarget(pod, port);
    if (target !== undefined) return this.forwardedTo(target, subject);
    // The addresses of its node, which exist.
    return spec?.hostNetwork === true ? ordinary : nothingRuns(subject);
  }

  private async forwardedTo(target: string, subject: string): Promise<AddressRoute> {
    const { forwardTargets } = this.options;
    if (forwardTargets.length === 0) {
      const reason = `${subject}: no program runs there, and the server follows no ${portForwardAnnotation}`;
      return { kind: "simulated", reason };
    }
    try {
      return { kind: "forwarded", ...(await allowedTarget(target, forwardTargets)) };
    } catch (error) {
      return { kind: "simulated", reason: `${subject}: ${(error as Error).message}` };
    }
  }

  /** A simulated node without a kubelet server reports port 0, for which others have a default. */
  private async hasNoServer(name: string): Promise<boolean> {
    const node = await this.read<Node>("nodes", { namespace: "", name });
    const port = node?.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
    return port === 0 && (await this.isSimulated(name));
  }

  private async isSimulated(node: string): Promise<boolean> {
    if (node === "") return false;
    if (this.nodes.has(node)) return true;
    const stored = await this.read<Node>("nodes", { namespace: "", name: node });
    return stored?.metadata.labels?.[simulatedNodeLabel] === "true";
  }

  /** Whether the node is simulated and the address of its endpoint is not its own. */
  private async isInvented(name: string, address: string | undefined): Promise<boolean> {
    if (!(await this.isSimulated(name))) return false;
    const node = await this.read<Node>("nodes", { namespace: "", name });
    return node?.status?.addresses?.some((own) => own.address === address) !== true;
  }

  /** The pod with the name, if it has the address. */
  private async podOf(at: NamespacedName, address: string): Promise<Pod | undefined> {
    const hasAddress = (pod: Pod | undefined) =>
      pod?.status?.podIPs?.some((each) => each.ip === address);
    const cached = this.cached<Pod>("pods", at);
    if (cached !== undefined && hasAddress(cached)) return cached;
    const stored = await this.stored<Pod>("pods", at);
    return hasAddress(stored) === true ? stored : undefined;
  }

  /** A pod with the primary address; of several, one that is not simulated. */
  private async podWith(address: string): Promise<Pod | undefined> {
    const { registry, catalog, signal } = this.options;
    const resource = catalog.find("", "v1", "pods");
    if (resource === undefined) return undefined;
    const options = { ...listAll, resourceVersion: "0", fieldSelector: `status.podIP=${address}` };
    const found = await registry().list(loopbackRequest(resource, {}, { signal }), options);
    let simulated: Pod | undefined;
    for await (const { object } of found.items) {
      const pod = object as Pod;
      if (!(await this.isSimulated(pod.spec?.nodeName ?? ""))) return pod;
      simulated ??= pod;
    }
    return simulated;
  }

  private async read<T>(plural: string, at: NamespacedName): Promise<T | undefined> {
    return this.cached<T>(plural, at) ?? this.stored<T>(plural, at);
  }

  private cached<T>(plural: string, at: NamespacedName): T | undefined {
    const target = this.target(plural, at);
    return target && (this.options.registry().cached(target)?.object as T | undefined);
  }

  private async stored<T>(plural: string, at: NamespacedName): Promise<T | undefined> {
    const target = this.target(plural, at);
    if (target === undefined) return undefined;
    const found = this.options.registry().get(target, { resourceVersion: "" });
    return (await found.catch(ignoreNotFound))?.object as T | undefined;
  }

  private target(plural: string, at: NamespacedName) {
    const { catalog, signal } = this.options;
    const resource = catalog.find("", "v1", plural);
    return resource && loopbackRequest(resource, at, { signal });
  }

  /** Watches nodes from the first call on; resolves when their index is complete. */
  private follow(signal: AbortSignal | undefined): Promise<void> {
    this.synced ??= this.followNodes();
    return abortable(this.synced, signal);
  }

  private followNodes(): Promise<void> {
    const resource = this.options.catalog.find("", "v1", "nodes");
    if (resource === undefined) return Promise.resolve();
    const set = (node: Node) => this.nodes.set(node);
    const sink = {
      replaced: (nodes: readonly Node[]) => nodes.forEach(set),
      changed: (type: string, node: Node) => {
        if (type !== "DELETED") set(node);
      },
    };
    return followStored<Node>(resource, sink, {
      ...this.options,
      registry: this.options.registry(),
    }).ready;
  }
}

const ordinary: AddressRoute = { kind: "ordinary" };

function nothingRuns(subject: string): AddressRoute {
  return { kind: "simulated", reason: `${subject}: no program runs there` };
}
