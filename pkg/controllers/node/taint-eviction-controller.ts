import { deepEqual } from "#base";
import { type Informer, objectKey, CoreEventRecorder } from "#client";
import { type Node, nodes as nodeHandle, type Pod, pods as podHandle, type Taint } from "#kinds";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { TaintDeletion, taintDeletionMetrics } from "../pods/taint-deletion.ts";
import { podsByNode, podsOn } from "./pods-by-node.ts";
import { toleratedMs } from "./tolerations.ts";

/** A scheduled eviction. */
interface Scheduled {
  readonly pod: Pod;
  /** Milliseconds since 1970. */
  readonly fireAt: number;
}

/** Metrics of the controller, named as in kube-controller-manager. */
export const taintEvictionMetrics = taintDeletionMetrics(
  "taint_eviction_controller",
  "NoExecute taint",
);

const disruption = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

const workers = 8;

/** Deletes pods that do not (or no longer) tolerate the NoExecute taints of their node. */
export async function runTaintEvictionController(context: ControllerContext): Promise<void> {
  const { informers } = context;
  const queue = newWorkQueue(context, "noexec_taint_pod");
  const recorder = new CoreEventRecorder(context, "taint-eviction-controller");
  const pods = podsByNode(informers);
  const nodes = informers.of(nodeHandle);
  pods.subscribe((change) => {
    const { type, object } = change;
    if (type === "updated") {
      const { before } = change;
      const isSameNode = before.spec?.nodeName === object.spec?.nodeName;
      if (isSameNode && deepEqual(before.spec?.tolerations, object.spec?.tolerations)) return;
    }
    queue.add(objectKey(object));
  });
  nodes.subscribe((change) => {
    const { type, object } = change;
    const before = type === "updated" ? noExecuteTaints(change.before) : [];
    // The pod garbage collector deletes the pods of a deleted node.
    if (type === "deleted" || deepEqual(before, noExecuteTaints(object))) return;
    for (const pod of podsOn(pods, object.metadata.name)) queue.add(objectKey(pod));
  });
  await Promise.all([pods.untilSynced(), nodes.untilSynced()]);
  const evictions = new TaintEvictions(context, recorder, nodes);
  const sync = async (key: string) => {
    const waitMs = await evictions.sync(key, pods.get(key));
    if (waitMs !== undefined) queue.addAfter(key, waitMs);
  };
  await Promise.all([recorder.run(), queue.run(sync, { workers })]);
}

class TaintEvictions {
  private readonly scheduled = new Map<string, Scheduled>();
  private readonly deletion: TaintDeletion;

  constructor(
    private readonly context: ControllerContext,
    private readonly recorder: CoreEventRecorder,
    private readonly nodes: Informer<Node>,
  ) {
    this.deletion = new TaintDeletion(context, disruption, taintEvictionMetrics);
  }

  /** Returns the milliseconds until the next sync of the pod; undefined = on its next change. */
  async sync(key: string, pod: Pod | undefined): Promise<number | undefined> {
    const known = this.scheduled.get(key);
    if (known !== undefined && known.pod.metadata.uid !== pod?.metadata.uid) this.cancel(key);
    const node = this.nodes.get(pod?.spec?.nodeName ?? "");
    if (pod === undefined || node === undefined) return undefined;
    const toleratesMs = toleratedMs(noExecuteTaints(node), pod.spec?.tolerations ?? []);
    if (toleratesMs === Infinity) {
      this.cancel(key);
      return undefined;
    }
    const now = this.context.clock.now();
    // A scheduled eviction keeps its time while the pod tolerates the taints.
    const { fireAt } = (toleratesMs > 0 && this.scheduled.get(key)) || {
      fireAt: now + toleratesMs,
    };
    if (now < fireAt) {
      this.scheduled.set(key, { pod, fireAt });
      return fireAt - now;
    }
    if (toleratesMs === 0) this.cancel(key);
    await this.deletion.delete(pod, fireAt, () =>
      this.recordEvent(pod, `Marking for deletion Pod ${key}`),
    );
    this.scheduled.delete(key);
    return undefined;
  }

  private cancel(key: string): void {
    const known = this.scheduled.get(key);
    if (known === undefined) return;
    this.scheduled.delete(key);
    this.recordEvent(known.pod, `Cancelling deletion of Pod ${key}`);
  }

  private recordEvent(pod: Pod, message: string): void {
    const reason = "TaintManagerEviction";
    this.recorder.record(podHandle, pod, { type: "Normal", reason, message });
  }
}

function noExecuteTaints({ spec }: Node): readonly Taint[] {
  return (spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}
