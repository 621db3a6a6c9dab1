import { type Random, seededRandom } from "#base";
import { type Client, EventRecorder, type Informer } from "#client";
import { type Node, nodes, type Pod, pods } from "#kinds";
import { prefix } from "../annotations.ts";
import type { PodHost } from "../pod/pod-host.ts";
import type { NodesContext, NodesSettings } from "../settings.ts";
import type { StageBook } from "./stage-book.ts";
import { type StageHost, StagePlayer, type StagePlayerOptions } from "./stage-player.ts";

interface StagePlayersOptions {
  readonly context: NodesContext;
  /** Acts for all Stages. */
  readonly client: Client;
  readonly book: StageBook;
  readonly settings: NodesSettings;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  /** The node of that name if it is one of this process. */
  readonly hostOf: (node: string) => PodHost | undefined;
  readonly portOf: (node: string) => number;
  /** Called when Stages change, which may leave pods and nodes to the built-in simulation. */
  readonly onChange: () => void;
}

/** Lets Stages act on the pods and nodes of the process. */
export class StagePlayers {
  readonly pods: StagePlayer<Pod>;
  readonly nodes: StagePlayer<Node>;
  private readonly recorder: EventRecorder;

  constructor(private readonly options: StagePlayersOptions) {
    const { context, client, book, settings } = options;
    const controller = `${prefix}/stages`;
    const instance = settings.namePrefix;
    this.recorder = new EventRecorder({ ...context, client, controller, instance });
    const common: Omit<
      StagePlayerOptions<Pod & Node>,
      "kind" | "resource" | "informer" | "hostOf" | "isForeign" | "onGone"
    > = {
      ...context,
      client,
      book,
      recorder: this.recorder,
      version: settings.kubeletVersion,
      randomOf: (decision) => randomOf(decision, context.random, settings),
    };
    this.pods = new StagePlayer<Pod>({
      ...common,
      kind: "Pod",
      resource: pods,
      informer: options.pods,
      hostOf: (pod) => this.hostOf(pod.spec?.nodeName ?? "", pod),
      isForeign,
      onGone: ({ metadata, spec }) =>
        options.hostOf(spec?.nodeName ?? "")?.addresses?.release(metadata.uid),
    });
    this.nodes = new StagePlayer<Node>({
      ...common,
      kind: "Node",
      resource: nodes,
      informer: options.nodes,
      hostOf: ({ metadata }) => this.hostOf(metadata.name),
      isForeign: () => false,
      onGone: () => undefined,
    });
  }

  /** Works until the signal aborts. */
  async run(): Promise<void> {
    const stop = this.options.book.onChange(this.options.onChange);
    await Promise.all([this.pods.run(), this.nodes.run(), this.recorder.run()]);
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

/** Whether the status of a pod is none that the built-in simulation has written. */
function isForeign({ status }: Pod): boolean {
  if ((status?.containerStatuses ?? []).length === 0) return false;
  return status?.conditions?.some(({ type }) => type === "PodReadyToStartContainers") !== true;
}

/** Chance that depends on the seed and the decision alone, if there is a seed. */
function randomOf(decision: string, random: Random, { seed }: NodesSettings): Random {
  return seed === undefined ? random : seededRandom(`${seed}/${decision}`);
}
