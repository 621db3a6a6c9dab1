/**
 * Invariants of the queue under random events, against a model of which events requeue which pods.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom, VirtualClock } from "#base";
import type { Pod } from "#kinds";
import { noInstruments } from "#request";
import { actions, type ClusterChange, type ClusterEvent } from "../framework/cluster-events.ts";
import type { Plugin, QueuedPod } from "../framework/contract.ts";
import { unresolvable } from "../framework/status.ts";
import { SchedulingQueue } from "./scheduling-queue.ts";

const nodeAdd = { resource: "Node", action: actions.add, label: "NodeAdd" } as const;
const podDelete = { resource: "Pod", action: actions.delete, label: "AssignedPodDelete" } as const;
const changeOf = (
  event: ClusterEvent,
  before: ClusterChange["before"],
  after: ClusterChange["after"],
): ClusterChange => ({ event, before, after });
const claimAdd = { resource: "ResourceClaim", action: actions.add, label: "ClaimAdd" } as const;

/** Rejections by `NeedsNode` end with a node of the pod's name, those by `NeedsRoom` with a delete. */
const needsNode: Plugin = {
  name: "NeedsNode",
  events: [
    {
      resource: "Node",
      action: actions.add | actions.updateNodeLabel,
      hint: (pod, { after }) => after?.metadata.name === pod.metadata.name,
    },
  ],
};
const needsRoom: Plugin = {
  name: "NeedsRoom",
  events: [{ resource: "Pod", action: actions.delete }],
};

class Model {
  readonly clock = new VirtualClock({ start: 0 });
  readonly gated = new Set<string>();
  readonly queue: SchedulingQueue;
  /** Pods that exist and are not bound. */
  readonly pending = new Map<string, Pod>();
  readonly flying: QueuedPod[] = [];
  private made = 0;

  constructor(private readonly random: Random) {
    const gates: Plugin = {
      name: "Gates",
      preEnqueue: ({ metadata }) =>
        this.gated.has(metadata.uid) ? unresolvable("Gates", "gated") : undefined,
      events: [{ resource: "ResourceClaim", action: actions.add }],
    };
    const plugins = [gates, needsNode, needsRoom];
    this.queue = new SchedulingQueue({
      clock: this.clock,
      instruments: noInstruments,
      backoff: { initialMs: 1_000, maxMs: 10_000 },
      less: (a, b) => a.timestamp < b.timestamp,
      pluginsOf: () => plugins,
      preEnqueuesOf: () => [gates],
    });
  }

  create(isGated = false): Pod {
    const name = `p${this.made++}`;
    const metadata = { name, uid: name, namespace: "ns", resourceVersion: "1" };
    const pod = { metadata, spec: { containers: [{ name: "c" }] } };
    if (isGated) this.gated.add(name);
    this.pending.set(name, pod);
    this.queue.add(pod);
    return pod;
  }

  remove(pod: Pod): void {
    this.pending.delete(pod.metadata.uid);
    this.queue.delete(pod);
  }

  /** The next pod if there is one now. */
  async pop(): Promise<QueuedPod | undefined> {
    let isIdle = false;
    const popped = this.queue.pop();
    const idle = new Promise<undefined>((resolve) => {
      setImmediate(() => {
        isIdle = true;
        resolve(undefined);
      });
    });
    const next = await Promise.race([popped, idle]);
    if (isIdle && next === undefined) {
      // The waiting pop takes the next pod that becomes active.
      void popped.then((late) => late !== undefined && this.flying.push(late));
      return undefined;
    }
    this.flying.push(next!);
    return next;
  }

  /** Ends an attempt: the pod is bound or deleted, or was rejected by these plugins. */
  end(queued: QueuedPod, rejectors: readonly string[] | "bound"): void {
    this.flying.splice(this.flying.indexOf(queued), 1);
    const { pod } = queued.info;
    const { uid } = pod.metadata;
    if (rejectors === "bound" || !this.pending.has(uid)) {
      this.pending.delete(uid);
      this.queue.done(pod);
      return;
    }
    queued.unschedulablePlugins = new Set(rejectors);
    this.queue.addUnschedulable(queued);
    this.queue.done(pod);
  }

  /** Events that concern any pod, no pod, or one of them. */
  event(): ClusterChange {
    const pods = [...this.pending.values()];
    const after = pods.length === 0 ? undefined : this.random.pick(pods);
    return this.random.pick([
      changeOf(nodeAdd, undefined, after ?? { metadata: namedNode("none") }),
      changeOf(nodeAdd, undefined, { metadata: namedNode("none") }),
      changeOf(podDelete, { metadata: namedNode("other") }, undefined),
      changeOf(claimAdd, undefined, { metadata: namedNode("claim") }),
    ]);
  }
}

function namedNode(name: string) {
  return { name, uid: name, resourceVersion: "1" };
}

async function act(model: Model, random: Random): Promise<void> {
  const { queue, flying, pending } = model;
  const chosen = random.below(9);
  if (chosen <= 1) model.create(random.below(4) === 0);
  else if (chosen === 2 && pending.size > 0) model.remove(random.pick([...pending.values()]));
  else if (chosen <= 4) queue.moveAll(model.event());
  else if (chosen === 5) {
    await model.clock.advance(random.below(3_000));
    queue.flushBackoff();
  } else if (chosen === 6 && pending.size > 0) {
    const pod = random.pick([...pending.values()]);
    model.gated.delete(pod.metadata.uid);
    queue.forceActivate(pod);
  } else if (chosen === 7 && flying.length < 5) await model.pop();
  else if (flying.length > 0) {
    const rejectors = [["NeedsNode"], ["NeedsRoom"], ["NeedsNode", "NeedsRoom"], [], "bound"];
    model.end(random.pick(flying), random.pick(rejectors) as readonly string[] | "bound");
  }
}

describe("SchedulingQueue", () => {
  for (let seed = 1; seed <= 30; seed++) {
    it(`loses no pod under random events, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      const model = new Model(random);
      for (let at = 0; at < 300; at++) await act(model, random);
      model.gated.clear();
      for (const queued of model.flying.slice()) model.end(queued, ["NeedsRoom"]);
      // After five minutes every pod is retried, whatever it waits for.
      await model.clock.advance(6 * 60_000);
      model.queue.flushUnschedulable();
      await model.clock.advance(11_000);
      model.queue.flushBackoff();
      const seen = new Set<string>();
      while (await model.pop()) continue;
      for (const { info } of model.flying) {
        assert.ok(!seen.has(info.pod.metadata.uid), `${info.pod.metadata.uid} is in flight twice`);
        seen.add(info.pod.metadata.uid);
      }
      const lost = [...model.pending.keys()].filter((uid) => !seen.has(uid));
      assert.deepEqual(lost, []);
    });
  }

  async function rejected(model: Model, rejectors: readonly string[]): Promise<QueuedPod> {
    model.create();
    const queued = (await model.pop())!;
    model.end(queued, rejectors);
    await model.clock.advance(11_000);
    model.queue.flushBackoff();
    return queued;
  }

  it("requeues a pod on an event for which a rejecting plugin has registered", async () => {
    const model = new Model(seededRandom(1));
    const { info } = await rejected(model, ["NeedsNode"]);
    model.queue.moveAll(changeOf(nodeAdd, undefined, info.pod));
    assert.equal((await model.pop())?.info.pod.metadata.uid, info.pod.metadata.uid);
  });

  it("does not requeue a pod on events for which its plugins have not registered", async () => {
    const model = new Model(seededRandom(1));
    await rejected(model, ["NeedsNode"]);
    model.queue.moveAll(changeOf(podDelete, { metadata: namedNode("other") }, undefined));
    model.queue.moveAll(changeOf(nodeAdd, undefined, { metadata: namedNode("other") }));
    assert.equal(await model.pop(), undefined);
  });

  it("requeues a pod on an event during its attempt", async () => {
    const model = new Model(seededRandom(1));
    model.create();
    const queued = (await model.pop())!;
    model.queue.moveAll(changeOf(podDelete, { metadata: namedNode("other") }, undefined));
    model.end(queued, ["NeedsRoom"]);
    assert.equal((await model.pop())?.info.pod.metadata.uid, queued.info.pod.metadata.uid);
  });

  it("does not schedule a gated pod until its gate is removed", async () => {
    const model = new Model(seededRandom(1));
    const pod = model.create(true);
    const change = changeOf(claimAdd, undefined, { metadata: namedNode("claim") });
    model.queue.moveAll(change);
    assert.equal(await model.pop(), undefined);
    model.gated.delete(pod.metadata.uid);
    model.queue.moveAll(change);
    await model.clock.advance(1);
    assert.deepEqual(
      model.flying.map(({ info }) => info.pod.metadata.uid),
      [pod.metadata.uid],
    );
  });
});
