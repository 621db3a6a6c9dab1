import { type Random, seededRandom } from "#base";
import { type Client, EventRecorder, type Informer } from "#client";
import { type Node, nodes, type Pod, pods } from "#kinds";
import { prefix } from "../../annotations.ts";
import type { PodHost } from "../../pod/pod-host.ts";
import type { NodesContext, NodesSettings } from "../../settings.ts";
import { KindPlayers } from "./kind-players.ts";
import { ServedKinds } from "./served-kinds.ts";
import type { StageRegistry } from "../stage-registry.ts";
import type { StageClients } from "./stage-clients.ts";
import { nodeKind, podKind } from "../stage-kinds.ts";
import { StageStatusWriter } from "../stage-status-writer.ts";
import { type StageHost, StagePlayer, type StagePlayerOptions } from "./stage-player.ts";

interface StagePlayersOptions {
  readonly context: NodesContext;
  /** Client of Stages for Pods and Nodes. */
  readonly client: Client;
  readonly clients: StageClients;
  readonly registry: StageRegistry;
  readonly settings: NodesSettings;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  /** The node of that name; undefined = not simulated by this process. */
  readonly hostOf: (node: string) => PodHost | undefined;
  readonly portOf: (node: string) => number;
  /** Called when Stages change: the built-in simulation may have to take over pods and nodes. */
  readonly onChange: () => void;
}

/** Applies Stages to the pods and nodes of the process, and to objects of other kinds. */
export class StagePlayers {
  readonly pods: StagePlayer<Pod>;
  readonly nodes: StagePlayer<Node>;
  private readonly others: KindPlayers;
  private readonly status: StageStatusWriter;
  private readonly recorder: EventRecorder;

  constructor(private readonly options: StagePlayersOptions) {
    const { context, client, clients, registry, settings } = options;
    const controller = `${prefix}/stages`;
    const instance = settings.namePrefix;
    this.recorder = new EventRecorder({ ...context, client, controller, instance });
    const served = new ServedKinds(clients.client, context.clock);
    const randomFor = (decision: string) => randomOf(decision, context.random, settings);
    this.status = new StageStatusWriter({ ...context, registry, client });
    this.others = new KindPlayers({
      context,
      settings,
      registry,
      clients,
      served,
      randomOf: randomFor,
    });
    const common: Omit<
      StagePlayerOptions<Pod & Node>,
      "kind" | "resource" | "informer" | "hostOf" | "isForeign" | "onGone"
    > = {
      ...context,
      client,
      clients,
      served,
      registry,
      recorder: this.recorder,
      version: settings.kubeletVersion,
      randomOf: randomFor,
    };
    this.pods = new StagePlayer<Pod>({
      ...common,
      kind: podKind,
      resource: pods,
      informer: options.pods,
      hostOf: (pod) => this.hostOf(pod.spec?.nodeName ?? "", pod),
      isForeign,
      onGone: ({ metadata, spec }) =>
        options.hostOf(spec?.nodeName ?? "")?.addresses?.release(metadata.uid),
    });
    this.nodes = new StagePlayer<Node>({
      ...common,
      kind: nodeKind,
      resource: nodes,
      informer: options.nodes,
      hostOf: ({ metadata }) => this.hostOf(metadata.name),
      isForeign: () => false,
      onGone: () => undefined,
    });
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const stop = this.options.registry.onChange(this.options.onChange);
    const parts = [this.status, this.pods, this.nodes, this.others, this.recorder];
    await Promise.all(parts.map((part) => part.run()));
    stop();
  }

  private hostOf(nodeName: string, pod?: Pod): StageHost | undefined {
    const { hostOf, portOf } = this.options;
    const host = hostOf(nodeName);
    if (host?.isWorking !== true) return undefined;
    return {
      nodeName,
      nodeAddress: host.address,
      nodePort: portOf(nodeName),
      podAddress: () =>
        pod === undefined ? undefined : host.addresses?.take(pod.metadata.uid)?.[0],
    };
  }
}

/** Whether the status of a pod was not written by the built-in simulation. */
function isForeign({ status }: Pod): boolean {
  if ((status?.containerStatuses ?? []).length === 0) return false;
  return status?.conditions?.some(({ type }) => type === "PodReadyToStartContainers") !== true;
}

/** Randomness of a decision; deterministic if there is a seed. */
function randomOf(decision: string, random: Random, { seed }: NodesSettings): Random {
  return seed === undefined ? random : seededRandom(`${seed}/${decision}`);
}
