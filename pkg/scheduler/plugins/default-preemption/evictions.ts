import { realClock } from "#base";
import { namespaceOf, type Pod, pods, priorityOf } from "#kinds";
import { isNotFound } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";
import { livePods } from "../../framework/live-pods.ts";
import type { Candidate } from "./victims.ts";

/**
 * Evicts victims asynchronously. The preemptor is gated until the informer shows its last victim as deleted
 * or terminating; before, it would not fit and preempt other pods.
 */
export class Evictions {
  /** UIDs of preemptors whose victims, except the last one, are being evicted. */
  private readonly running = new Set<string>();
  /** UID of the last victim by UID of the preemptor. */
  private readonly lastVictims = new Map<string, string>();
  private readonly waiting = new Map<string, Set<string>>();

  constructor(private readonly handle: PluginHandle) {
    // Subscribed before the queue, which requeues the pod on the same event.
    handle.informers.of(pods, livePods).subscribe(({ type, object: { metadata } }) => {
      if (type === "deleted" || metadata.deletionTimestamp !== undefined) this.seen(metadata.uid);
    });
  }

  isPreempting({ metadata: { uid } }: Pod): boolean {
    return this.running.has(uid) || this.lastVictims.has(uid);
  }

  begin(pod: Pod, candidate: Candidate): void {
    const { instruments, clock, report, activate, signal } = this.handle;
    instruments.observe("scheduler_preemption_victims", {}, candidate.victims.length);
    this.running.add(pod.metadata.uid);
    const began = realClock(clock).monotonic();
    const ended = (result: "success" | "error") => {
      const seconds = (realClock(clock).monotonic() - began) / 1_000;
      instruments.observe("scheduler_preemption_goroutines_duration_seconds", { result }, seconds);
      instruments.add("scheduler_preemption_goroutines_execution_total", { result }, 1);
    };
    const failed = (error: unknown) => {
      this.end(pod);
      if (signal.aborted) return;
      ended("error");
      report("Failed to preempt pods", error);
      activate(pod);
    };
    this.evictAll(pod, candidate).then(() => ended("success"), failed);
  }

  private async evictAll(pod: Pod, { node, victims }: Candidate): Promise<void> {
    await this.clearNominations(pod, node);
    const last = victims.at(-1);
    const others = victims.slice(0, -1);
    await Promise.all(others.map((victim) => this.evict(pod, victim, node)));
    if (last !== undefined) this.awaitVictim(pod, last);
    this.running.delete(pod.metadata.uid);
    if (last !== undefined) await this.evict(pod, last, node);
  }

  private awaitVictim({ metadata: { uid } }: Pod, victim: Pod): void {
    const current = this.handle.currentPod(victim)?.metadata;
    const isThere = current?.uid === victim.metadata.uid;
    if (!isThere || current.deletionTimestamp !== undefined) return;
    this.lastVictims.set(uid, current.uid);
    const waiting = this.waiting.get(current.uid) ?? new Set();
    this.waiting.set(current.uid, waiting.add(uid));
  }

  private seen(victim: string): void {
    for (const uid of this.waiting.get(victim) ?? []) this.lastVictims.delete(uid);
    this.waiting.delete(victim);
  }

  private end({ metadata: { uid } }: Pod): void {
    this.running.delete(uid);
    const victim = this.lastVictims.get(uid);
    if (victim === undefined) return;
    this.lastVictims.delete(uid);
    const waiting = this.waiting.get(victim);
    waiting?.delete(uid);
    if (waiting?.size === 0) this.waiting.delete(victim);
  }

  /** Clears nominations of lower-priority pods to the node, which may no longer fit there. */
  private async clearNominations(pod: Pod, node: string): Promise<void> {
    const { nominator, patchStatus } = this.handle;
    const lower = nominator.podsOn(node).filter((each) => priorityOf(each.pod) < priorityOf(pod));
    await Promise.all(lower.map((each) => patchStatus(each.pod, { nominatedNodeName: "" })));
  }

  private async evict(pod: Pod, victim: Pod, node: string): Promise<void> {
    const { client, recordEvent, patchStatus } = this.handle;
    const { schedulerName = "" } = pod.spec ?? {};
    const message = `${schedulerName}: preempting to accommodate a higher priority pod`;
    const reason = "PreemptionByScheduler";
    const { name, uid } = victim.metadata;
    try {
      const condition = { type: "DisruptionTarget", status: "True", reason, message } as const;
      await patchStatus(victim, { condition });
      const at = { namespace: namespaceOf(victim), name };
      await client.delete(pods, at, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return;
    }
    recordEvent(victim, {
      type: "Normal",
      reason: "Preempted",
      action: "Preempting",
      note: `Preempted by pod ${pod.metadata.uid} on node ${node}`,
      related: pod,
    });
  }
}
