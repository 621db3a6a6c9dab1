import { ipFamily } from "#base";
import type { Informer } from "#client";
import {
  type Container,
  type ContainerImage,
  containersOf,
  type Node,
  nodes,
  type Pod,
  pods,
} from "#kinds";
import { PodDevices } from "./devices/pod-devices.ts";
import { SlicePublisher } from "./devices/slice-publisher.ts";
import { ConfigObjects } from "./environment/config-objects.ts";
import { ContainerCommands } from "./environment/container-commands.ts";
import { imageBytes, imageId } from "./identifiers.ts";
import { KubeletEvents } from "./events/kubelet-events.ts";
import { KubeletServer } from "./kubelet/kubelet-server.ts";
import { podToEvict, type Starvation } from "./node/eviction.ts";
import { type NodeStages, NodeSyncer } from "./node/node-syncer.ts";
import type { PodHost } from "./pod/pod-host.ts";
import { PodSyncer } from "./pod/pod-syncer.ts";
import { podIpsOf } from "./pod/restore.ts";
import type { NodesContext, NodesSettings } from "./settings.ts";
import { NodeExpansion } from "./volumes/node-expansion.ts";
import { PodVolumes } from "./volumes/pod-volumes.ts";
import { runStorage } from "./storage/simulated-storage.ts";
import { StaticPods } from "./static-pods/static-pods.ts";
import { StageFollower } from "./stages/follow-stages.ts";
import { StageRegistry } from "./stages/stage-registry.ts";
import { nodeKind } from "./stages/stage-kinds.ts";
import { StagePlayers } from "./stages/play/stage-players.ts";

/** Maximum number of nodes with a kubelet server, each of which uses a port. */
const maxServed = 1_000;
/** Index of pods by their node. */
const byNode = "node";

/**
 * Runs simulated nodes and their pods until the signal aborts.
 * @throws RangeError for two addresses of one family
 */
export async function runNodes(context: NodesContext, settings: NodesSettings): Promise<void> {
  if (settings.count === 0) return;
  const { address, secondaryAddress } = settings;
  if (secondaryAddress !== undefined && ipFamily(secondaryAddress) === ipFamily(address)) {
    throw new RangeError(`${secondaryAddress} is of the same family as the address ${address}`);
  }
  await new SimulatedNodes(context, settings).run();
}

class SimulatedNodes {
  private readonly pods: Informer<Pod>;
  private readonly nodes: Informer<Node>;
  private readonly events: KubeletEvents;
  private readonly nodeSyncer: NodeSyncer;
  private readonly podSyncer: PodSyncer;
  private readonly podDevices: PodDevices;
  private readonly slicePublisher: SlicePublisher;
  private readonly staticPods: StaticPods;
  private readonly commands: ContainerCommands;
  private readonly volumes: PodVolumes;
  private readonly expansion: NodeExpansion;
  private readonly registry = new StageRegistry();
  private readonly stages:
    | { readonly follower: StageFollower; readonly players: StagePlayers }
    | undefined;
  /** Ports of the kubelets' server, by node. */
  private readonly ports = new Map<string, number>();

  private readonly hostOf = (name: string): PodHost | undefined => this.nodeSyncer.hostOf(name);

  constructor(
    private readonly context: NodesContext,
    private readonly settings: NodesSettings,
  ) {
    this.pods = context.informers.of(pods, { fieldSelector: "spec.nodeName!=" });
    this.pods.addIndex(byNode, ({ spec }) => [spec?.nodeName ?? ""]);
    this.nodes = context.informers.of(nodes);
    this.events = new KubeletEvents(context, settings);
    const common = { context, settings, events: this.events };
    const { hostOf } = this;
    const isOwn = (name: string) => hostOf(name) !== undefined;
    this.slicePublisher = new SlicePublisher({ context, nodes: this.nodes, isOwn });
    this.podDevices = new PodDevices({
      ...common,
      pods: this.pods,
      nodes: this.nodes,
      podsOf: (node) => this.podsOf(node),
      onChange: (own) => this.podSyncer.resync(own),
    });
    const objects = new ConfigObjects(context.informers);
    this.commands = new ContainerCommands({
      ...context,
      objects,
      nodeOf: (name) => this.nodes.get(name),
      onChange: (pod) => this.podSyncer.enqueue(pod),
    });
    this.volumes = this.createVolumes(objects);
    this.expansion = new NodeExpansion({
      ...common,
      pods: this.pods,
      volumes: this.volumes,
      hostOf,
    });
    this.staticPods = new StaticPods({
      context,
      path: settings.staticPodPath,
      pods: this.pods,
      nodes: () => this.nodeSyncer.names,
      hostOf,
      onChange: (pod) => this.podSyncer.enqueue(pod),
    });
    this.podSyncer = new PodSyncer({
      ...common,
      pods: this.pods,
      podsOf: (node) => this.podsOf(node),
      devices: this.podDevices,
      volumes: this.volumes,
      commands: this.commands,
      staticPods: this.staticPods,
      hostOf,
      isStaged: (pod) => this.stages?.players.pods.isStaged(pod) === true,
    });
    this.nodeSyncer = this.createNodeSyncer();
    this.stages = this.createStages();
  }

  private createVolumes(objects: ConfigObjects): PodVolumes {
    const { context, events } = this;
    return new PodVolumes({
      context,
      events,
      objects,
      onChange: (pod) => this.podSyncer.enqueue(pod),
      onMounted: (pod) => this.expansion.podMounted(pod),
      onInUse: (node) => this.nodeSyncer.wake(node),
    });
  }

  private createNodeSyncer(): NodeSyncer {
    const { context, settings, events } = this;
    return new NodeSyncer({
      context,
      settings,
      events,
      nodes: this.nodes,
      portOf: (node) => this.ports.get(node) ?? 0,
      imagesOf: (node) => imagesOf(this.podsOf(node)),
      onStarvation: (node, starvation) => this.evict(node, starvation),
      volumesInUse: (node) => this.volumes.inUse(node),
      onWorking: (node) => this.startPods(node),
      stages: this.nodeStages(),
    });
  }

  private nodeStages(): NodeStages {
    return {
      exist: () => this.registry.has(nodeKind),
      isStaged: (node) => this.stages?.players.nodes.isStaged(node) === true,
      selects: (node) => this.registry.selecting(nodeKind, node).length > 0,
    };
  }

  private createStages(): SimulatedNodes["stages"] {
    const { context, settings, registry } = this;
    const { nodesClient: client, stageClients: clients } = context;
    if (client === undefined || clients === undefined) return undefined;
    const installs = settings.installsStages;
    const follower = new StageFollower({ ...context, client, registry, installs });
    const players = new StagePlayers({
      context,
      settings,
      client,
      clients,
      registry,
      pods: this.pods,
      nodes: this.nodes,
      hostOf: (name) => this.nodeSyncer.hostOf(name),
      portOf: (node) => this.ports.get(node) ?? 0,
      onChange: () => {
        this.nodeSyncer.resync();
        this.podSyncer.resync(this.pods.all());
      },
    });
    return { follower, players };
  }

  async run(): Promise<void> {
    const sources = [this.pods, this.nodes, this.commands, this.volumes].map((each) =>
      each.untilSynced(),
    );
    await Promise.all([...sources, this.stages?.follower.start(), this.staticPods.start()]);
    if (this.context.signal.aborted) return this.stages?.follower.ended();
    const server = await this.serve();
    this.podDevices.start();
    const { context, settings } = this;
    await Promise.all([
      this.nodeSyncer.run(),
      this.podSyncer.run(),
      this.staticPods.run(),
      this.slicePublisher.run(),
      this.events.run(),
      this.expansion.run(),
      this.stages?.players.run(),
      runStorage({ ...context, client: context.storageClient }, settings.storage),
    ]);
    await this.stages?.follower.ended();
    server?.close();
  }

  /** Starts the kubelet servers; nodes beyond `maxServed` have none. */
  private async serve(): Promise<KubeletServer | undefined> {
    const { serving, clock, report } = this.context;
    if (serving === undefined) return undefined;
    const podsOf = (node: string) => this.podsOf(node);
    const { address: host, capacity, portForwardTargets } = this.settings;
    const doors = {
      clock,
      report,
      host,
      podsOf,
      capacity,
      portForwardTargets,
      commands: this.commands,
      startOf: (pod: Pod, container: Container) => this.podSyncer.startOf(pod, container),
    };
    const server = new KubeletServer({ ...serving, ...doors });
    for (const node of [...this.nodeSyncer.names].slice(0, maxServed)) {
      try {
        this.ports.set(node, await server.listen(node));
      } catch (error) {
        report(`Failed to listen for the kubelet of ${node}`, error);
        break;
      }
    }
    return server;
  }

  private podsOf(node: string): readonly Pod[] {
    return this.pods.indexed(byNode, node);
  }

  /** Evicts the next pod of a node that is short of a resource. */
  private evict(node: string, starvation: Starvation): void {
    const { clock, clientOf } = this.context;
    this.events.recordNode(node, {
      type: "Warning",
      reason: "EvictionThresholdMet",
      message: `Attempting to reclaim ${starvation.resource}`,
    });
    const moment = { domain: clientOf(node).domain, now: clock.now() };
    const active = this.podsOf(node).filter((pod) => this.podSyncer.isActive(pod));
    const victim = podToEvict(active, starvation, moment);
    if (victim !== undefined) this.podSyncer.evict(victim.pod, victim.message);
  }

  /** Enqueues the pods of a node whose kubelet starts to work. */
  private startPods(node: string): void {
    const own = this.podsOf(node);
    const { addresses } = this.nodeSyncer.hostOf(node) ?? {};
    for (const pod of own) {
      const { spec, status } = pod;
      const ips = podIpsOf(status ?? {});
      if (ips === undefined || spec?.hostNetwork === true) continue;
      if (status?.phase === "Failed" || status?.phase === "Succeeded") continue;
      addresses?.keep(this.staticPods.uidOf(pod), ips);
    }
    this.podSyncer.resync(own);
    this.staticPods.resync(node);
    this.stages?.players.pods.resync(own);
    const object = this.nodes.get(node);
    if (object !== undefined) this.stages?.players.nodes.resync([object]);
  }
}

/** Maximum number of listed images: the kubelet's nodeStatusMaxImages. */
const maxImages = 50;

function imagesOf(own: readonly Pod[]): readonly ContainerImage[] {
  const images = new Set(own.flatMap(containersOf).map(({ image = "" }) => image));
  return [...images]
    .filter((image) => image !== "")
    .sort()
    .slice(0, maxImages)
    .map((image) => ({ names: [imageId(image), image], sizeBytes: imageBytes }));
}
