import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import type { Node, Pod, TopologySpreadConstraint } from "#kinds";
import { podNamed, RandomCluster } from "../testing.ts";
import { podTopologySpread } from "./plugin.ts";

const args = { defaultConstraints: [], defaultingType: "List" } as const;

function randomPod(random: Random, name: string): Pod {
  const constraint = (topologyKey: string): TopologySpreadConstraint => ({
    topologyKey,
    maxSkew: 1 + random.below(2),
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: { app: random.pick(["a", "b"]) } },
    nodeAffinityPolicy: random.pick(["Honor", "Ignore"]),
    ...(random.below(3) === 0 ? { minDomains: 3 } : {}),
  });
  const keys = random.pick([["zone"], ["host"], ["zone", "host"], []]);
  const nodeSelector = random.below(3) === 0 ? { disk: random.pick(["ssd", "hdd"]) } : {};
  const spec = { topologySpreadConstraints: keys.map(constraint), nodeSelector };
  return podNamed(name, { app: random.pick(["a", "b"]) }, spec);
}

/** Nodes on which the pod satisfies its constraints, computed from all pods. */
function expected(cluster: RandomCluster, pod: Pod): readonly string[] {
  const constraints = pod.spec?.topologySpreadConstraints ?? [];
  const labelsOf = (node: Node) => node.metadata.labels ?? {};
  const matches = (app: string, other: Pod) => other.metadata.labels?.["app"] === app;
  const isSelected = (node: Node) =>
    Object.entries(pod.spec?.nodeSelector ?? {}).every(([key, value]) => {
      return labelsOf(node)[key] === value;
    });
  const counted = [...cluster.nodes.values()].filter((node) =>
    constraints.every(({ topologyKey }) => labelsOf(node)[topologyKey] !== undefined),
  );
  const fits = (node: Node, constraint: TopologySpreadConstraint) => {
    const { topologyKey, maxSkew, minDomains = 1 } = constraint;
    const app = constraint.labelSelector!.matchLabels!["app"]!;
    const own = labelsOf(node)[topologyKey];
    if (own === undefined) return false;
    const counts = new Map<string, number>();
    for (const each of counted) {
      if (constraint.nodeAffinityPolicy === "Honor" && !isSelected(each)) continue;
      const value = labelsOf(each)[topologyKey]!;
      const on = [...cluster.pods.values()].filter(
        (other) => other.spec?.nodeName === each.metadata.name && matches(app, other),
      );
      counts.set(value, (counts.get(value) ?? 0) + on.length);
    }
    const least = counts.size < minDomains ? 0 : Math.min(...counts.values());
    return (counts.get(own) ?? 0) + (matches(app, pod) ? 1 : 0) - least <= maxSkew;
  };
  return [...cluster.nodes.values()]
    .filter((node) => constraints.every((each) => fits(node, each)))
    .map(({ metadata }) => metadata.name)
    .sort();
}

describe("PodTopologySpread", () => {
  for (let seed = 1; seed <= 20; seed++) {
    it(`accepts the nodes within maxSkew, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      const cluster = new RandomCluster(random, (name) => randomPod(random, name));
      const plugin = podTopologySpread(cluster.handle, args);
      for (let at = 0; at < 60; at++) {
        for (let changes = random.below(4); changes > 0; changes--) cluster.change();
        const pod = randomPod(random, "incoming");
        assert.deepEqual(await cluster.accepted(plugin, pod), expected(cluster, pod));
      }
    });
  }
});
