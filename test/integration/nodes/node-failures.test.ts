/** Failing simulated nodes and the node-lifecycle controller, in virtual time. */
import assert from "node:assert/strict";
import type { StartOptions } from "../../../cmd/keelson/index.ts";
import { condition, type Json, second, start, VirtualCluster } from "./virtual-cluster.ts";

const pods = "/api/v1/namespaces/default/pods";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const unreachable = "node.kubernetes.io/unreachable";
/**
 * Interval of node monitoring: nodes that stop heartbeats together are detected in the next round, or in
 * the one after it if a Lease was renewed since the last.
 */
const monitorSeconds = 60;
const monitor = { nodeMonitorPeriodMs: monitorSeconds * second };

const nodeAt = (at: number) => `/api/v1/nodes/hollow-${at}`;

const hasNoExecute = ({ spec }: Json): boolean =>
  spec?.taints?.some(({ key, effect }: Json) => key === unreachable && effect === "NoExecute") ===
  true;

const isUnknown = (node: Json): boolean => condition(node, "Ready").status === "Unknown";

const isEvicted = (pod: Json): boolean =>
  pod.code === 404 || pod.metadata?.deletionTimestamp !== undefined;

/** Nodes and their pods, by number. */
class FailingCluster {
  private constructor(readonly virtual: VirtualCluster) {}

  static async start(options: StartOptions): Promise<FailingCluster> {
    return new FailingCluster(await VirtualCluster.start({ scheduler: false, ...options }));
  }

  async fail(at: number, failure: string): Promise<void> {
    const annotations = { "simulated.keelson.dev/failure": failure };
    await this.virtual.request("PATCH", nodeAt(at), { metadata: { annotations } });
    await this.virtual.clock.settle();
  }

  async label(at: number, zone: string): Promise<void> {
    const labels = { "topology.kubernetes.io/zone": zone };
    await this.virtual.request("PATCH", nodeAt(at), { metadata: { labels } });
  }

  /** Creates a pod on a node, with tolerationSeconds for the taint. */
  async pod(at: number, tolerationSeconds = 300): Promise<void> {
    const toleration = { key: unreachable, operator: "Exists", effect: "NoExecute" };
    const tolerations = [{ ...toleration, tolerationSeconds }];
    const containers = [{ name: "app", image: "registry.example/app" }];
    const spec = { nodeName: `hollow-${at}`, tolerations, containers };
    await this.virtual.create(pods, { metadata: { name: `pod-${at}` }, spec });
  }

  node(at: number): Promise<Json> {
    return this.virtual.get(nodeAt(at));
  }

  podOn(at: number): Promise<Json> {
    return this.virtual.get(`${pods}/pod-${at}`);
  }

  /** Advances the time to the end of the monitoring round that is `looks` rounds away. */
  async passLooks(looks: number): Promise<void> {
    const passed = Math.floor(this.virtual.seconds / monitorSeconds) + looks;
    const at = Date.parse(start) + (passed * monitorSeconds + 2) * second;
    await this.virtual.clock.advanceTo(new Date(at));
  }

  /** Numbers of the nodes for which the condition holds. */
  async which(count: number, isSo: (node: Json) => boolean): Promise<readonly number[]> {
    const numbers = Array.from({ length: count }, (_, at) => at);
    const nodes = await Promise.all(numbers.map((at) => this.node(at)));
    return numbers.filter((at) => isSo(nodes[at]));
  }

  /** Times in seconds at which further nodes are tainted, until `wanted` are. */
  async taintTimes(count: number, wanted: number, within: number): Promise<readonly number[]> {
    const times: number[] = [];
    for (let passed = 0; times.length < wanted && passed <= within; passed++) {
      const tainted = await this.which(count, hasNoExecute);
      while (times.length < tainted.length) times.push(this.virtual.seconds);
      await this.virtual.clock.advance(second);
    }
    assert.equal(times.length, wanted, `tainted at ${times.join()}`);
    return times;
  }
}

describe("failures of simulated nodes", () => {
  const running: FailingCluster[] = [];
  const startCluster = async (options: StartOptions) => {
    const cluster = await FailingCluster.start(options);
    running.push(cluster);
    return cluster;
  };
  const startMonitored = (count: number, settings: object = {}) =>
    startCluster({
      nodes: { count },
      controllerManager: { settings: { ...monitor, ...settings } },
    });
  afterEach(async () => {
    await Promise.all(running.splice(0).map(({ virtual }) => virtual.server.close()));
  });

  it("stop evictions in a small zone in partial disruption, not in another zone", async () => {
    const cluster = await startMonitored(6);
    for (let at = 0; at < 6; at++) await cluster.label(at, at < 4 ? "a" : "b");
    for (const at of [0, 4]) await cluster.pod(at, 5);
    await cluster.passLooks(1);
    for (const at of [0, 1, 2, 4]) await cluster.fail(at, "silent");
    await cluster.passLooks(3);
    assert.deepEqual(await cluster.which(6, isUnknown), [0, 1, 2, 4]);
    await cluster.virtual.clock.advance(300 * second);
    assert.deepEqual(await cluster.which(6, hasNoExecute), [4]);
    assert.equal(isEvicted(await cluster.podOn(4)), true);
    assert.equal(isEvicted(await cluster.podOn(0)), false);
    await cluster.fail(2, "");
    const [, first = 0, next = 0] = await cluster.taintTimes(6, 3, 180);
    assert.ok(next - first >= 10, "one node in ten seconds once the zone is healthy again");
    await cluster.virtual.clock.advance(10_000);
    assert.equal(isEvicted(await cluster.podOn(0)), true);
  });

  it("slow evictions to the secondary rate in a large zone in partial disruption", async () => {
    const rates = { secondaryNodeEvictionRate: 0.02, largeClusterSizeThreshold: 3 };
    const cluster = await startMonitored(4, rates);
    await cluster.passLooks(1);
    for (const at of [0, 1, 2]) await cluster.fail(at, "silent");
    await cluster.passLooks(1);
    const [first = 0, next = 0, last = 0] = await cluster.taintTimes(4, 3, 240);
    assert.ok(next - first >= 49, `${first}, ${next}`);
    assert.ok(last - next >= 49, `${next}, ${last}`);
  });

  it("stop all evictions while no node is ready, and resume them after a grace period", async () => {
    const cluster = await startMonitored(3);
    for (let at = 0; at < 3; at++) await cluster.pod(at, 0);
    await cluster.passLooks(1);
    for (let at = 0; at < 3; at++) await cluster.fail(at, "silent");
    await cluster.passLooks(3);
    assert.deepEqual(await cluster.which(3, isUnknown), [0, 1, 2]);
    await cluster.virtual.clock.advance(600 * second);
    assert.deepEqual(await cluster.which(3, hasNoExecute), []);
    const found = await Promise.all([0, 1, 2].map((at) => cluster.podOn(at)));
    assert.deepEqual(found.map(isEvicted), [false, false, false]);
    assert.equal(condition(found[0], "Ready").status, "False", "marked on behalf of its kubelet");
    await cluster.fail(0, "");
    const [first = 0, next = 0] = await cluster.taintTimes(3, 2, 240);
    assert.ok(next - first >= 10, `${first}, ${next}`);
    assert.deepEqual(await cluster.which(3, hasNoExecute), [1, 2]);
    await cluster.virtual.clock.advance(5_000);
    assert.deepEqual([await cluster.podOn(0), await cluster.podOn(1)].map(isEvicted), [
      false,
      true,
    ]);
  });

  it("delete the Node of a removed machine, its Lease and its pods", async () => {
    const cluster = await startMonitored(2);
    for (const at of [0, 1]) await cluster.pod(at);
    await cluster.fail(0, "gone");
    const isGone = ({ code }: Json) => code === 404;
    await cluster.virtual.when(nodeAt(0), isGone, 5);
    await cluster.virtual.when(`${leases}/hollow-0`, isGone, 30);
    await cluster.virtual.when(`${pods}/pod-0`, isGone, 180);
    assert.equal((await cluster.podOn(1)).status.phase, "Running");
    assert.equal((await cluster.node(0)).code, 404, "it stays away");
  });

  it("keep a slow node Ready, whose pods start ten seconds late", async () => {
    const cluster = await startCluster({ nodes: { count: 2 } });
    await cluster.fail(0, "slow");
    await cluster.virtual.clock.advance(30 * second);
    const created = cluster.virtual.seconds;
    for (const at of [0, 1]) await cluster.pod(at);
    const isRunning = ({ status }: Json) => status?.phase === "Running";
    assert.ok((await cluster.virtual.when(`${pods}/pod-1`, isRunning, 5)) - created <= 2);
    assert.ok((await cluster.virtual.when(`${pods}/pod-0`, isRunning, 30)) - created >= 10);
    const renewals = new Set<string>();
    for (let passed = 0; passed < 300; passed += 5) {
      assert.equal(condition(await cluster.node(0), "Ready").status, "True");
      renewals.add((await cluster.virtual.get(`${leases}/hollow-0`)).spec.renewTime);
      await cluster.virtual.clock.advance(5 * second);
    }
    assert.ok(renewals.size >= 9 && renewals.size <= 12, `${renewals.size} renewals in 300 s`);
  });

  it("make nodes flap at times that depend on the seed only", async () => {
    const sampleSeconds = 30;
    /** Indexes of the samples at which each node stops or resumes heartbeats. */
    const changes = async (seed: string) => {
      const cluster = await startCluster({ controllers: false, nodes: { count: 3, seed } });
      for (const at of [0, 1, 2]) await cluster.fail(at, "flapping=5m");
      const found: number[][] = [[], [], []];
      const wasOn = [true, true, true];
      for (let sample = 1; sample <= 40; sample++) {
        await cluster.virtual.clock.advance(sampleSeconds * second);
        const { items } = await cluster.virtual.get(leases);
        for (const at of [0, 1, 2]) {
          const lease = items.find(({ metadata }: Json) => metadata.name === `hollow-${at}`);
          const age = cluster.virtual.clock.now() - Date.parse(lease.spec.renewTime);
          const isOn = age < sampleSeconds * second;
          if (isOn !== wasOn[at]) found[at]!.push(sample);
          wasOn[at] = isOn;
        }
      }
      return found;
    };
    const isClose = (one: readonly number[], other: readonly number[]) =>
      one.length === other.length && one.every((each, at) => Math.abs(each - other[at]!) <= 1);
    const [first, again, other] = [await changes("x"), await changes("x"), await changes("y")];
    for (const [at, times] of first.entries()) {
      assert.ok(times.length >= 3 && times.length <= 5, `${times.join()}`);
      assert.ok(isClose(times, again[at]!), `${times.join()} and ${again[at]!.join()}`);
    }
    assert.ok(
      first.some((times) => !isClose(times, first[0]!)),
      "nodes do not flap in step",
    );
    assert.ok(
      first.some((times, at) => !isClose(times, other[at]!)),
      "seeds differ",
    );
  });
});
