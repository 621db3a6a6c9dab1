import { type Random, seededRandom, systemClock } from "#base";
import type { Node, Pod } from "#kinds";
import { kubernetes } from "#meta";
import { noInstruments } from "#request";
import { Cache } from "../cache/cache.ts";
import { Snapshot } from "../cache/snapshot.ts";
import type { Plugin, SchedulingContext } from "../framework/contract.ts";
import { CycleState } from "../framework/cycle-state.ts";
import type { PluginHandle } from "../framework/handle.ts";
import { podInfoOf } from "../framework/pod-info.ts";

const informer = {
  subscribe: () => () => undefined,
  addIndex: () => undefined,
  all: () => [],
  get: () => undefined,
  indexed: () => [],
};

/** Randomly changing nodes and pods for consecutive attempts of a plugin. */
export class RandomCluster {
  readonly snapshot = new Snapshot();
  readonly handle: PluginHandle;
  readonly nodes = new Map<string, Node>();
  readonly pods = new Map<string, Pod>();
  private readonly cache = new Cache(() => "");
  private made = 0;

  constructor(
    private readonly random: Random,
    private readonly makePod: (name: string) => Pod,
  ) {
    this.handle = {
      domain: kubernetes,
      informers: { of: () => informer },
      clock: systemClock,
      random: seededRandom(1),
      instruments: noInstruments,
      client: { domain: kubernetes },
      snapshot: this.snapshot,
    } as unknown as PluginHandle;
  }

  /** Adds, moves or removes a node or a pod. */
  change(): void {
    const { random, nodes, pods } = this;
    const chosen = random.below(10);
    const names = [...nodes.keys()];
    if (chosen < 2 || names.length < 2) this.setNode(`n${random.below(8)}`);
    else if (chosen === 2) {
      const name = random.pick(names);
      const isEmpty = [...pods.values()].every(({ spec }) => spec?.nodeName !== name);
      if (!isEmpty) return;
      nodes.delete(name);
      this.cache.removeNode(name);
    } else if (chosen < 8 || pods.size === 0) {
      const pod = this.makePod(`p${this.made++}`);
      const bound = { ...pod, spec: { ...pod.spec, nodeName: random.pick(names) } };
      pods.set(bound.metadata.uid, bound);
      this.cache.setPod(podInfoOf(bound));
    } else {
      const pod = random.pick([...pods.values()]);
      pods.delete(pod.metadata.uid);
      this.cache.removePod(pod);
    }
  }

  /** Names of the nodes that the plugin accepts for the pod. */
  async accepted(plugin: Plugin, pod: Pod): Promise<readonly string[]> {
    this.cache.updateSnapshot(this.snapshot);
    const state = new CycleState();
    const context: SchedulingContext = {
      state,
      pod,
      podInfo: podInfoOf(pod),
      rest: () => undefined,
    };
    const { nodes } = this.snapshot;
    const result = await plugin.preFilter!(context, nodes);
    const isSkipped = result?.status?.code === "Skip";
    const accepted = nodes.filter(
      (node) => isSkipped || plugin.filter!(context, node) === undefined,
    );
    return accepted.map(({ name }) => name).sort();
  }

  podsIn(topologyKey: string, value: string): readonly Pod[] {
    return [...this.pods.values()].filter(({ spec }) => {
      const labels = this.nodes.get(spec?.nodeName ?? "")?.metadata.labels ?? {};
      return labels[topologyKey] === value;
    });
  }

  private setNode(name: string): void {
    const { random } = this;
    const zone = random.below(4) === 0 ? {} : { zone: `z${random.below(3)}` };
    const disk = random.pick(["ssd", "hdd"]);
    const labels = { host: name, disk, ...zone };
    const node = { metadata: { name, uid: name, resourceVersion: "1", labels } };
    this.nodes.set(name, node);
    this.cache.setNode(node);
  }
}

/** A pod in the namespace `ns`. */
export function podNamed(
  name: string,
  labels: Readonly<Record<string, string>>,
  spec: object = {},
): Pod {
  const metadata = { name, uid: name, namespace: "ns", resourceVersion: "1", labels };
  return { metadata, spec: { containers: [{ name: "c" }], ...spec } };
}
