import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import type { Pod } from "#kinds";
import { podNamed, RandomCluster } from "../testing.ts";
import { interPodAffinity } from "./plugin.ts";

interface Term {
  readonly app: string;
  readonly topologyKey: string;
}

const args = { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false };

function required(term: Term | undefined): object {
  if (term === undefined) return {};
  const { app, topologyKey } = term;
  const labelSelector = { matchLabels: { app } };
  return { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey }] };
}

function randomPod(random: Random, name: string): Pod {
  const term = () =>
    random.below(3) > 0
      ? undefined
      : { app: random.pick(["a", "b"]), topologyKey: random.pick(["zone", "host"]) };
  const affinity = { podAffinity: required(term()), podAntiAffinity: required(term()) };
  return podNamed(name, { app: random.pick(["a", "b", "c"]) }, { affinity });
}

function termOf(pod: Pod, name: "podAffinity" | "podAntiAffinity"): Term | undefined {
  const [term] = pod.spec?.affinity?.[name]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (term === undefined) return undefined;
  return { app: term.labelSelector!.matchLabels!["app"]!, topologyKey: term.topologyKey };
}

/** Nodes that are feasible for the pod, computed from all pods. */
function expected(cluster: RandomCluster, pod: Pod): readonly string[] {
  const appOf = (other: Pod) => other.metadata.labels?.["app"];
  const affinity = termOf(pod, "podAffinity");
  const anti = termOf(pod, "podAntiAffinity");
  const isFirst = ({ app, topologyKey }: Term) =>
    app === appOf(pod) &&
    [...cluster.pods.values()].every((other) => {
      const node = cluster.nodes.get(other.spec!.nodeName!);
      return appOf(other) !== app || node?.metadata.labels?.[topologyKey] === undefined;
    });
  const names = [...cluster.nodes.values()].filter(({ metadata: { labels = {} } }) => {
    const near = ({ app, topologyKey }: Term) => {
      const value = labels[topologyKey];
      const isNear = (other: Pod) => appOf(other) === app;
      return value !== undefined && cluster.podsIn(topologyKey, value).some(isNear);
    };
    const isRepelled = [...cluster.pods.values()].some((other) => {
      const term = termOf(other, "podAntiAffinity");
      if (term === undefined || term.app !== appOf(pod)) return false;
      const value = cluster.nodes.get(other.spec!.nodeName!)?.metadata.labels?.[term.topologyKey];
      return value !== undefined && value === labels[term.topologyKey];
    });
    const hasKey = affinity === undefined || labels[affinity.topologyKey] !== undefined;
    const isAttracted = affinity === undefined || near(affinity) || isFirst(affinity);
    return hasKey && isAttracted && (anti === undefined || !near(anti)) && !isRepelled;
  });
  return names.map(({ metadata }) => metadata.name).sort();
}

describe("InterPodAffinity", () => {
  for (let seed = 1; seed <= 20; seed++) {
    it(`accepts the nodes that an oracle over all pods accepts, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      const cluster = new RandomCluster(random, (name) => randomPod(random, name));
      const plugin = interPodAffinity(cluster.handle, args);
      for (let at = 0; at < 60; at++) {
        for (let changes = random.below(4); changes > 0; changes--) cluster.change();
        const pod = randomPod(random, "incoming");
        assert.deepEqual(await cluster.accepted(plugin, pod), expected(cluster, pod));
      }
    });
  }
});
