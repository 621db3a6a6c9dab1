import { realClock } from "#base";
import { type Informer, type Lease, leases, type CoreEventRecorder } from "#client";
import { type Node, nodes as nodeHandle, type Pod, pods as podHandle } from "#kinds";
import { ignoreNotFound, isNotFound } from "#meta";
import { type ControllerContext, statusCodeOf } from "../../controller-context.ts";
import { isReady } from "../../pods/pod-state.ts";
import { formatTime } from "../../time.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { hasTaint, swapTaints, type TaintId } from "../node-taints.ts";
import { podsByNode, podsOn } from "../pods-by-node.ts";
import { nodeConditionOf, NodeNames, withUnknownConditions } from "./node-conditions.ts";
import { type GracePeriods, NodeHealth } from "./node-health.ts";
import { type EvictionRates, type ZoneCounts, Zones } from "./zones.ts";

export interface NodeMonitorOptions extends GracePeriods, EvictionRates {
  /** In virtual time: next Lease renewals of simulated nodes in this process, by name. */
  readonly heartbeats?: ReadonlyMap<string, number>;
}

/** Result of the health check of a node. */
interface HealthCheck {
  readonly node: Node;
  /** Status of Ready before the check; Unknown if the condition was absent. */
  readonly observed: string;
  /** Status of Ready after the check; undefined = the condition is absent. */
  readonly current: string | undefined;
}

const leaseNamespace = "kube-node-lease";
const maxAttempts = 5;
const parallelChecks = 8;

/** Checks the health of all nodes, and taints nodes that are not ready. */
export class NodeMonitor {
  readonly names: NodeNames;
  private readonly known = new Map<string, Node>();
  private readonly health: NodeHealth;
  private readonly zones: Zones;
  /** Names of nodes whose pods have yet to be set to not ready. */
  private readonly pendingPodUpdates = new Set<string>();
  private readonly nodes: Informer<Node>;
  private readonly written: WrittenObjects<Node>;
  private readonly pods: Informer<Pod>;
  private readonly leases: Informer<Lease>;

  constructor(
    private readonly context: ControllerContext,
    private readonly options: NodeMonitorOptions,
    private readonly recorder: CoreEventRecorder,
  ) {
    const { client, clock, informers } = context;
    this.names = new NodeNames(client.domain);
    this.health = new NodeHealth(options);
    this.zones = new Zones(clock, options);
    this.nodes = informers.of(nodeHandle);
    this.written = new WrittenObjects(this.nodes);
    this.pods = podsByNode(informers);
    this.leases = informers.of(leases(client.domain), { namespace: leaseNamespace });
  }

  untilSynced(): Promise<void> {
    return this.leases.untilSynced();
  }

  readyStatusOf(name: string): string | undefined {
    return this.health.readyStatusOf(name);
  }

  async checkAll(): Promise<void> {
    const { instruments, report, signal } = this.context;
    const clock = realClock(this.context.clock);
    const began = clock.monotonic();
    const all = [...this.nodes.all()];
    this.updateKnownNodes(all);
    const counts = new Map<string, ZoneCounts>();
    await inParallel(all, parallelChecks, async (node) => {
      if (signal.aborted) return;
      const started = clock.monotonic();
      try {
        const found = await this.checkHealth(node);
        if (found !== undefined) {
          this.count(counts, found);
          await this.handleResult(found);
        }
      } catch (error) {
        if (!signal.aborted) report(`Failed to monitor the node ${node.metadata.name}`, error);
      }
      const took = (clock.monotonic() - started) / 1000;
      instruments.observe("node_collector_update_node_health_duration_seconds", {}, took);
    });
    if (!signal.aborted) await this.handleDisruption(counts, all);
    const took = (clock.monotonic() - began) / 1000;
    instruments.observe("node_collector_update_all_nodes_health_duration_seconds", {}, took);
  }

  /** Time until which health checks have no effect unless a node changes; -Infinity = unknown. */
  idleUntil(): number {
    const all = [...this.nodes.all()];
    if (all.length !== this.known.size || this.pendingPodUpdates.size > 0) return -Infinity;
    const { heartbeats } = this.options;
    let end = Infinity;
    for (const node of all) {
      if (!this.isSettled(node)) return -Infinity;
      const graceEnd = this.silentAfter(node);
      const beatsAt = heartbeats?.get(node.metadata.name) ?? Infinity;
      if (beatsAt > graceEnd) end = Math.min(end, graceEnd);
    }
    return end;
  }

  /** Resolves when a node is queued for a NoExecute taint, or the controller ends. */
  untilQueued(): Promise<void> {
    return this.zones.untilQueued(this.context.signal);
  }

  /** Adds NoExecute taints to queued nodes within the rate limits of their zones. */
  async taintQueued(): Promise<void> {
    const { report, signal } = this.context;
    for (const zone of this.zones.names()) {
      for (let name = this.zones.next(zone); name !== undefined; name = this.zones.next(zone)) {
        const node = this.nodes.get(name);
        if (node === undefined) continue;
        try {
          await this.taint(node, zone);
        } catch (error) {
          if (signal.aborted) return;
          report(`Failed to taint the node ${name}`, error);
          this.zones.enqueue(zone, name);
          break;
        }
      }
    }
  }

  /** Sets condition Ready of pods to False, on behalf of their unresponsive kubelet. */
  async markNotReady(pods: readonly Pod[]): Promise<void> {
    const { client, clock } = this.context;
    const failures: unknown[] = [];
    for (const pod of pods.filter(isReady)) {
      const { namespace = "", name, uid } = pod.metadata;
      const lastTransitionTime = formatTime(clock.now());
      const conditions = [{ type: "Ready", status: "False", lastTransitionTime }];
      const patch = {
        type: "strategic",
        body: { metadata: { uid }, status: { conditions } },
      } as const;
      const at = { namespace, name, subresource: "status" };
      try {
        const marked = await client.patch(podHandle, at, patch).catch(ignoreNotFound);
        if (marked === undefined) continue;
        const event = { reason: "NodeNotReady", message: "Node is not ready" };
        this.recorder.record(podHandle, pod, { type: "Warning", ...event });
      } catch (error) {
        // 409: another pod (uid) has the name by now.
        if (statusCodeOf(error) !== 409) failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Whether the node has been observed, is ready, and has no NoExecute taint of this controller. */
  private isSettled(node: Node): boolean {
    if (!this.health.isKnown(node) || !this.known.has(node.metadata.name)) return false;
    const { wanted, opposite } = this.noExecuteTaints("Unknown");
    const isTainted = hasTaint(node, wanted) || hasTaint(node, opposite);
    return nodeConditionOf(node, "Ready")?.status === "True" && !isTainted;
  }

  private silentAfter(node: Node): number {
    const lease = this.leases.get(`${leaseNamespace}/${node.metadata.name}`);
    return this.health.graceEnd(node, lease, this.context.clock.now());
  }

  private updateKnownNodes(all: readonly Node[]): void {
    const names = new Set(all.map(({ metadata }) => metadata.name));
    for (const node of all) {
      const { name } = node.metadata;
      if (this.zones.ensure(this.names.zoneOf(node))) {
        const labels = { zone: this.names.zoneOf(node) };
        this.context.instruments.add("node_collector_evictions_total", labels, 0);
      }
      if (this.known.has(name)) continue;
      this.known.set(name, node);
      this.recordEvent(node, "RegisteredNode", `Registered Node ${name} in Controller`);
    }
    for (const [name, node] of this.known) {
      if (names.has(name)) continue;
      this.known.delete(name);
      this.health.forget(name);
      this.pendingPodUpdates.delete(name);
      this.zones.dequeue(name);
      this.recordEvent(node, "RemovingNode", `Removing Node ${name} from Controller`);
    }
  }

  private recordEvent(node: Node, reason: string, what: string): void {
    const message = `Node ${node.metadata.name} event: ${what}`;
    this.recorder.record(nodeHandle, node, { type: "Normal", reason, message });
  }

  /** Writes the conditions of an unresponsive node. Returns undefined if the node does not exist. */
  private async checkHealth(cached: Node): Promise<HealthCheck | undefined> {
    const { client, clock } = this.context;
    const { name } = cached.metadata;
    let node = this.written.newest(cached);
    // A previous process may have died before it set the pods of an unresponsive node to not ready.
    const ready = nodeConditionOf(node, "Ready");
    if (!this.health.isKnown(node) && ready?.status === "Unknown") this.pendingPodUpdates.add(name);
    for (let attempt = 1; ; attempt++) {
      const before = nodeConditionOf(node, "Ready");
      const isUnresponsive = clock.now() > this.silentAfter(node);
      const observed = before?.status ?? "Unknown";
      if (!isUnresponsive || before?.status === "Unknown") {
        return { node, observed, current: before?.status };
      }
      try {
        const draft = withUnknownConditions(node, clock.now());
        const written = await client.update(nodeHandle, draft, { subresource: "status" });
        this.health.recordWritten(written);
        this.written.add(written);
        return { node: written, observed, current: "Unknown" };
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (statusCodeOf(error) !== 409 || attempt === maxAttempts) throw error;
      }
      const live = await client.get(nodeHandle, { name }).catch(ignoreNotFound);
      if (live === undefined || live.metadata.uid !== cached.metadata.uid) return undefined;
      node = live;
    }
  }

  private count(counts: Map<string, ZoneCounts>, { node, current }: HealthCheck): void {
    if (node.metadata.labels?.[this.names.excludeDisruption] !== undefined) return;
    const zone = this.names.zoneOf(node);
    const { ready, notReady } = counts.get(zone) ?? { ready: 0, notReady: 0 };
    const isReadyNode = current === "True";
    counts.set(zone, {
      ready: ready + (isReadyNode ? 1 : 0),
      notReady: notReady + (isReadyNode ? 0 : 1),
    });
  }

  private async handleResult({ node, observed, current }: HealthCheck): Promise<void> {
    const { name } = node.metadata;
    if (current === undefined) return this.markReachable(node);
    await this.setNoExecute(node, current);
    if (current !== "True" && observed === "True") {
      const reason = "NodeNotReady";
      const message = `Node ${name} status is now: ${reason}`;
      this.recorder.record(nodeHandle, node, { type: "Normal", reason, message });
      this.pendingPodUpdates.add(name);
    }
    if (current !== "True" && this.pendingPodUpdates.has(name)) {
      await this.markNotReady(podsOn(this.pods, name));
    }
    this.pendingPodUpdates.delete(name);
  }

  /** Replaces the other NoExecute taint immediately; queues a node without one. */
  private async setNoExecute(node: Node, ready: string): Promise<void> {
    if (ready === "True") return this.markReachable(node);
    const { wanted, opposite } = this.noExecuteTaints(ready);
    if (hasTaint(node, opposite)) {
      await swapTaints(this.context, node, { add: [wanted], remove: [opposite] });
    } else if (!hasTaint(node, wanted)) {
      this.zones.enqueue(this.names.zoneOf(node), node.metadata.name);
    }
  }

  private noExecuteTaints(ready: string): { readonly wanted: TaintId; readonly opposite: TaintId } {
    const unreachable = { key: this.names.unreachable, effect: "NoExecute" };
    const notReady = { key: this.names.notReady, effect: "NoExecute" };
    return ready === "Unknown"
      ? { wanted: unreachable, opposite: notReady }
      : { wanted: notReady, opposite: unreachable };
  }

  private async markReachable(node: Node): Promise<void> {
    this.zones.dequeue(node.metadata.name);
    const { wanted, opposite } = this.noExecuteTaints("Unknown");
    if (!hasTaint(node, wanted) && !hasTaint(node, opposite)) return;
    await swapTaints(this.context, node, { remove: [wanted, opposite] });
  }

  private async taint(node: Node, zone: string): Promise<void> {
    const ready = nodeConditionOf(node, "Ready")?.status;
    if (ready === undefined || ready === "True") return;
    const { wanted, opposite } = this.noExecuteTaints(ready);
    await swapTaints(this.context, node, { add: [wanted], remove: [opposite] });
    this.context.instruments.add("node_collector_evictions_total", { zone }, 1);
  }

  private async handleDisruption(
    counts: ReadonlyMap<string, ZoneCounts>,
    all: readonly Node[],
  ): Promise<void> {
    const { clock, instruments, report } = this.context;
    for (const [zone, { ready, notReady }] of counts) {
      const size = ready + notReady;
      instruments.set("node_collector_zone_size", { zone }, size);
      instruments.set("node_collector_zone_health", { zone }, (100 * ready) / size);
      instruments.set("node_collector_unhealthy_nodes_in_zone", { zone }, notReady);
    }
    const emptyZones = [...this.zones.names()].filter((zone) => !counts.has(zone));
    for (const zone of emptyZones) {
      instruments.set("node_collector_zone_size", { zone }, 0);
      instruments.set("node_collector_zone_health", { zone }, 100);
      instruments.set("node_collector_unhealthy_nodes_in_zone", { zone }, 0);
    }
    const change = this.zones.update(counts);
    if (change === "some zone up again") this.health.resetAll(clock.now());
    if (change !== "all zones down") return;
    for (const { metadata } of all) {
      // Taints may have changed since the health checks started.
      const node = this.nodes.get(metadata.name);
      if (node === undefined) continue;
      await this.markReachable(node).catch((error: unknown) => {
        report(`Failed to remove taints from the node ${metadata.name}`, error);
      });
    }
  }
}

async function inParallel<T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
