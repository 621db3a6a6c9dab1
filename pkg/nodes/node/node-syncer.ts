import { deepEqual, ipFamily } from "#base";
import {
  type Client,
  type Handle,
  type Informer,
  type Lease,
  leases,
  microsText,
  WorkQueue,
} from "#client";
import { type ContainerImage, type Node, nodes, type NodeStatus } from "#kinds";
import { ignoreNotFound, isAlreadyExists, isConflict, isNotFound } from "#meta";
import type { PodDelays } from "../lifecycle/container-ends.ts";
import type { PodHost } from "../pod/pod-host.ts";
import { ownPodCidrs, PodAddresses } from "../pod-addresses.ts";
import type { KubeletEvent } from "../events/kubelet-event.ts";
import type { KubeletEvents } from "../events/kubelet-events.ts";
import type { NodesContext, NodesSettings } from "../settings.ts";
import { TimerHeap } from "../timers.ts";
import { registerDriver } from "../volumes/csi-node.ts";
import { type Starvation, starvedResources } from "./eviction.ts";
import { conditionEvents, registrationEvents, schedulableEvent } from "../events/node-events.ts";
import { nodeSelection } from "./managed-nodes.ts";
import { nodeHealth } from "./node-failures.ts";
import {
  addressesOf,
  nodeAnnotations,
  nodeLabels,
  nodeStatus,
  simulationMarks,
  type UnhealthyCondition,
} from "./node-status.ts";

export interface NodeSyncerOptions {
  readonly context: NodesContext;
  readonly events: KubeletEvents;
  readonly settings: NodesSettings;
  readonly nodes: Informer<Node>;
  /** Port of a node's kubelet server; 0 = none. */
  readonly portOf: (node: string) => number;
  /** Images of the pods of a node. */
  readonly imagesOf: (node: string) => readonly ContainerImage[];
  /** Called every ten seconds while a node is short of a resource. */
  readonly onStarvation: (node: string, starvation: Starvation) => void;
  /** Names of the attachable volumes that pods of a node use or are about to. */
  readonly volumesInUse: (node: string) => readonly string[];
  /** Called when a node's kubelet starts to work, or its podCIDR is allocated. */
  readonly onWorking: (node: string) => void;
  /** KWOK Stages that may control the status of nodes; absent = none. */
  readonly stages?: NodeStages | undefined;
}

export interface NodeStages {
  /** Whether Stages for nodes exist. */
  readonly exist: () => boolean;
  /** Whether Stages control the status of the node. */
  readonly isStaged: (node: Node) => boolean;
  /** Whether a Stage would select a node. */
  readonly selects: (node: Node) => boolean;
}

/** One simulated node. */
class SimulatedNode implements PodHost {
  object: Node | undefined;
  isRegistered = false;
  /** Whether the node was cordoned when its kubelet last observed it. */
  isUnschedulable: boolean | undefined;
  isSilent = false;
  isSlow = false;
  isGone = false;
  addresses: PodAddresses | undefined;
  lease: Lease | undefined;
  /** Monotonic times in ms. */
  renewAt = 0;
  reportAt = 0;
  evictAt = 0;

  constructor(
    readonly name: string,
    /** Number of the node in this process. */
    readonly index: number,
    readonly client: Client,
    private readonly settings: NodesSettings,
  ) {}

  /** Whether a client has created the Node: those of the process have the first numbers. */
  get isAdopted(): boolean {
    return this.index >= this.settings.count;
  }

  get address(): string {
    return this.settings.address;
  }

  get hostIps(): readonly string[] {
    return addressesOf(this.settings);
  }

  get delays(): PodDelays {
    const { delays } = this.settings;
    if (!this.isSlow) return delays;
    const late = Object.entries(delays).map(([name, ms]) => [name, ms + slowMs]);
    return Object.fromEntries(late) as PodDelays;
  }

  get isWorking(): boolean {
    return this.isRegistered && !this.isSilent && !this.isGone;
  }
}

/** Delay of pod syncs on a slow node. */
const slowMs = 10_000;
/** Factor of the Lease renewal interval of a slow node; still within the Lease's duration. */
const slowFactor = 3;
/** The kubelet's nodeStatusReportFrequency. */
const reportMs = 300_000;
const evictionMs = 10_000;
/** Number of renewals within the duration of a Lease. */
const renewalsPerLease = 4;
/** Jitter of intervals as a fraction, so that heartbeats of nodes spread. */
const jitter = 0.04;
const workers = 32;
const retryDelays = { firstMs: 100, maxMs: 7_000 };
const leaseNamespace = "kube-node-lease";

/** Registers the nodes of the process and sends their heartbeats. */
export class NodeSyncer {
  private readonly nodes = new Map<string, SimulatedNode>();
  private readonly queue: WorkQueue;
  private readonly timers: TimerHeap;
  private readonly heartbeats: TimerHeap;
  private readonly leases: Handle<Lease>;
  private readonly selects: (node: Node) => boolean;
  /** Number of the next adopted node. */
  private next: number;

  constructor(private readonly options: NodeSyncerOptions) {
    const { context, settings } = options;
    this.queue = new WorkQueue({ ...context, name: "simulated_nodes", delays: retryDelays });
    const wake = (name: string) => this.queue.add(name);
    this.timers = new TimerHeap(context.clock, context.signal, wake);
    this.heartbeats = new TimerHeap(context.clock, context.signal, wake, true);
    for (let index = 0; index < settings.count; index++) {
      const name = `${settings.namePrefix}${index}`;
      const client = context.clientOf(name);
      this.nodes.set(name, new SimulatedNode(name, index, client, settings));
    }
    this.selects = nodeSelection(settings.managed);
    this.next = settings.count;
    this.leases = leases(context.clientOf("").domain);
  }

  /** Enqueues all nodes, e.g. after a change of Stages. */
  resync(): void {
    for (const name of this.nodes.keys()) this.queue.add(name);
  }

  get names(): Iterable<string> {
    return this.nodes.keys();
  }

  hostOf(name: string): PodHost | undefined {
    return this.nodes.get(name);
  }

  /** Enqueues a node. */
  wake(name: string): void {
    this.queue.add(name);
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const unsubscribe = this.options.nodes.subscribe(({ type, object }) => {
      if (type === "deleted") this.forget(object);
      else this.adopt(object);
      if (this.nodes.has(object.metadata.name)) this.queue.add(object.metadata.name);
    });
    for (const object of this.options.nodes.all()) this.adopt(object);
    for (const name of this.nodes.keys()) this.queue.add(name);
    await this.queue.run((name) => this.sync(name), { workers });
    unsubscribe();
  }

  /** Starts to simulate a Node of a client if it is selected. */
  private adopt(object: Node): void {
    const { name } = object.metadata;
    if (this.nodes.has(name) || !this.selects(object)) return;
    const { context, settings } = this.options;
    const client = context.clientOf(name);
    this.nodes.set(name, new SimulatedNode(name, this.next++, client, settings));
  }

  /** Ends the simulation of a deleted Node of a client, which may create it again. */
  private forget({ metadata: { name } }: Node): void {
    if (this.nodes.get(name)?.isAdopted !== true) return;
    this.nodes.delete(name);
    this.timers.clear(name);
    this.stopHeartbeats(name);
  }

  private async sync(name: string): Promise<void> {
    const node = this.nodes.get(name);
    if (node === undefined || node.isGone) return;
    if (!node.isRegistered) await this.register(node);
    const object = this.options.nodes.get(name);
    // Like a real kubelet, does not recreate a deleted Node.
    if (object === undefined) return this.stopHeartbeats(name);
    node.object = object;
    await this.restoreMarks(node, object);
    this.tellIfCordoned(node, object);
    const { clock } = this.options.context;
    const now = clock.monotonic();
    const health = nodeHealth(object, clock.now(), this.options.settings.seed);
    const wasWorking = node.isWorking && node.addresses !== undefined;
    node.isSilent = health.isSilent;
    node.isSlow = health.isSlow;
    if (!node.isWorking) this.stopHeartbeats(name);
    if (health.isGone) return this.deleteNode(node);
    this.setAddresses(node, object);
    if (!wasWorking && node.isWorking) this.options.onWorking(name);
    let next = now + health.changesAt - clock.now();
    if (node.isWorking) {
      const { stages } = this.options;
      if (stages?.isStaged(object) !== true) await this.report(node, object, health.troubles);
      await this.renew(node, object);
      this.heartbeats.set(name, Math.min(node.renewAt, node.reportAt));
      this.options.context.heartbeats?.set(name, node.renewAt);
      next = Math.min(next, this.checkStarvation(node, object));
    }
    if (next !== Infinity) this.timers.set(name, next);
  }

  private stopHeartbeats(name: string): void {
    this.heartbeats.clear(name);
    this.options.context.heartbeats?.delete(name);
  }

  /** Triggers an eviction if a resource is short. Returns the monotonic time of the next check. */
  private checkStarvation(node: SimulatedNode, object: Node): number {
    const [starvation] = starvedResources(object);
    if (starvation === undefined) return Infinity;
    const now = this.options.context.clock.monotonic();
    if (now < node.evictAt) return node.evictAt;
    node.evictAt = now + evictionMs;
    this.options.onStarvation(node.name, starvation);
    return node.evictAt;
  }

  /** Creates the Node object, or adopts an existing one. */
  private async register(node: SimulatedNode): Promise<void> {
    const { client, name } = node;
    const { settings, context } = this.options;
    const podCidrs = this.ownPodCidrs(node);
    const metadata = {
      name,
      labels: nodeLabels(node, settings, client.domain),
      annotations: nodeAnnotations({ name, podCidrs }, client.domain),
    };
    const status = this.firstStatus(node, metadata);
    const { labels, annotations } = metadata;
    const present = node.isAdopted ? this.options.nodes.get(name) : undefined;
    if (node.isAdopted && present === undefined) return;
    const adopt = () => {
      const body = {
        metadata: {
          labels: { ...labels, ...present?.metadata.labels },
          annotations: { ...annotations, ...present?.metadata.annotations },
        },
      };
      return client.patch(nodes, { name }, { type: "merge", body });
    };
    const object = node.isAdopted
      ? await adopt()
      : await client.create(nodes, { metadata, spec: {}, status }).catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
          return adopt();
        });
    await registerDriver(client, object);
    node.isRegistered = true;
    this.recordEvents(name, registrationEvents(name, status.conditions));
    node.reportAt = context.clock.monotonic() + this.interval(reportMs);
  }

  /** Restores the marks by which API servers know that the addresses of its pods are simulated. */
  private async restoreMarks(node: SimulatedNode, { metadata }: Node): Promise<void> {
    const { labels, annotations } = simulationMarks(this.ownPodCidrs(node));
    if (hasAll(metadata.labels, labels) && hasAll(metadata.annotations, annotations)) return;
    const { client, name } = node;
    const body = { metadata: { labels, annotations } };
    await client.patch(nodes, { name }, { type: "merge", body }).catch(ignoreNotFound);
  }

  /** Status at registration; without conditions if a Stage controls them. */
  private firstStatus(node: SimulatedNode, metadata: Partial<Node["metadata"]>): NodeStatus {
    const { settings, context, stages } = this.options;
    const status = nodeStatus({}, this.stateOf(node, new Set()), { settings, ...context });
    const { conditions: _, ...bare } = status;
    const draft = { metadata: { name: node.name, uid: "", resourceVersion: "0", ...metadata } };
    return stages?.selects({ ...draft, status: bare }) === true ? bare : status;
  }

  private tellIfCordoned(node: SimulatedNode, { spec }: Node): void {
    const before = node.isUnschedulable;
    node.isUnschedulable = spec?.unschedulable === true;
    if (before === undefined || before === node.isUnschedulable) return;
    this.recordEvents(node.name, [schedulableEvent(node.name, before)]);
  }

  private recordEvents(node: string, events: readonly KubeletEvent[]): void {
    for (const event of events) this.options.events.recordNode(node, event);
  }

  private stateOf({ name, isAdopted }: SimulatedNode, troubles: ReadonlySet<UnhealthyCondition>) {
    const { portOf, imagesOf, volumesInUse } = this.options;
    const state = { name, isAdopted, port: portOf(name), images: imagesOf(name), troubles };
    return { ...state, volumesInUse: volumesInUse(name) };
  }

  private setAddresses(node: SimulatedNode, { spec }: Node): void {
    const { podCIDR, podCIDRs = podCIDR === undefined ? undefined : [podCIDR] } = spec ?? {};
    const cidrs = byFamily(podCIDRs ?? this.ownPodCidrs(node), node.address);
    if (cidrs.length === 0 || deepEqual(node.addresses?.cidrs, cidrs)) return;
    node.addresses = new PodAddresses(cidrs);
  }

  /** podCIDRs of a node, if no controller allocates them. */
  private ownPodCidrs({ index }: SimulatedNode): readonly string[] {
    const { settings } = this.options;
    return settings.allocatesPodCidrs ? [] : ownPodCidrs(settings, index);
  }

  /** Writes the status if anything but its heartbeat has changed, and every five minutes. */
  private async report(
    node: SimulatedNode,
    object: Node,
    troubles: ReadonlySet<UnhealthyCondition>,
  ): Promise<void> {
    const { settings, context } = this.options;
    const now = context.clock.monotonic();
    const reported = nodeStatus(object, this.stateOf(node, troubles), { settings, ...context });
    // KWOK's default Stages select nodes by `status.phase`, which kubelets no longer write.
    const isRunning = this.options.stages?.exist() === true;
    const status: NodeStatus = isRunning ? { ...reported, phase: "Running" } : reported;
    const isDue = now >= node.reportAt;
    const patch = changesOf(object.status ?? {}, status, isDue);
    if (patch === undefined) return;
    const { client, name } = node;
    const at = { name, subresource: "status" };
    const body = { status: withWholeAddresses(patch) };
    await client.patch(nodes, at, { type: "strategic", body }).catch(ignoreNotFound);
    this.recordEvents(name, conditionEvents(name, object.status ?? {}, status));
    node.reportAt = now + this.interval(reportMs);
  }

  private async renew(node: SimulatedNode, object: Node): Promise<void> {
    const { context, settings } = this.options;
    const now = context.clock.monotonic();
    if (now < node.renewAt) return;
    try {
      node.lease = await this.writeLease(node, object);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      node.lease = undefined;
      throw error;
    }
    const renewMs = (settings.leaseDurationSeconds * 1000) / renewalsPerLease;
    node.renewAt = now + this.interval(node.isSlow ? slowFactor * renewMs : renewMs);
  }

  private async writeLease({ client, name, lease }: SimulatedNode, object: Node): Promise<Lease> {
    const { context, settings } = this.options;
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: settings.leaseDurationSeconds,
      renewTime: microsText(context.clock),
    };
    const place = { namespace: leaseNamespace, name };
    if (lease !== undefined) return client.update(this.leases, { ...lease, spec });
    const { uid } = object.metadata;
    const ownerReferences = [{ apiVersion: nodes.version, kind: nodes.kind, name, uid }];
    try {
      return await client.create(this.leases, { metadata: { ...place, ownerReferences }, spec });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { metadata } = await client.get(this.leases, place);
      return client.update(this.leases, { metadata: { ...metadata, ownerReferences }, spec });
    }
  }

  /** Deletes the Node object of a removed machine, like a cloud node lifecycle controller. */
  private async deleteNode(node: SimulatedNode): Promise<void> {
    node.isGone = true;
    await node.client.delete(nodes, { name: node.name }).catch(ignoreNotFound);
  }

  private interval(ms: number): number {
    return ms * (1 + jitter * this.options.context.random.next());
  }
}

/** Replaces the address list: merging by `type` would allow one address per type only. */
function withWholeAddresses(patch: Partial<NodeStatus>): object {
  const { addresses } = patch;
  if (addresses === undefined) return patch;
  return { ...patch, addresses: [{ $patch: "replace" }, ...addresses] };
}

/** Sorts podCIDRs of the node's IP family first, like the kubelet sorts pod addresses. */
function byFamily(cidrs: readonly string[], address: string): readonly string[] {
  const isFirst = (cidr: string) => ipFamily(cidr.replace(/\/.*/, "")) === ipFamily(address);
  return [...cidrs.filter(isFirst), ...cidrs.filter((cidr) => !isFirst(cidr))];
}

/** Status fields that differ, conditions as a whole. With `isDue` heartbeats count as differences. */
function changesOf(
  old: NodeStatus,
  status: NodeStatus,
  isDue: boolean,
): Partial<NodeStatus> | undefined {
  const { conditions = [], ...rest } = status;
  const changed = Object.entries(rest).filter(
    ([name, value]) => !deepEqual(value, old[name as keyof NodeStatus]),
  );
  const isSame = conditions.every((condition) => {
    const known = old.conditions?.find(({ type }) => type === condition.type);
    return known?.status === condition.status && known.reason === condition.reason;
  });
  if (changed.length === 0 && isSame && !isDue) return undefined;
  return { ...Object.fromEntries(changed), conditions };
}

function hasAll(
  values: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([key, value]) => values[key] === value);
}
