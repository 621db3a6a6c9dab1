import { namespaceOf, type Pod, pods, priorityOf } from "#kinds";
import { isNotFound } from "#meta";
import type { PluginHandle } from "../../framework/handle.ts";
import type { Candidate } from "./victims.ts";

/** Evicts victims in the background. A pod is not tried again before its victims are told. */
export class Evictions {
  private readonly preempting = new Set<string>();

  constructor(private readonly handle: PluginHandle) {}

  isPreempting({ metadata: { uid } }: Pod): boolean {
    return this.preempting.has(uid);
  }

  begin(pod: Pod, candidate: Candidate): void {
    const { instruments, report, activate, signal } = this.handle;
    instruments.observe("scheduler_preemption_victims", {}, candidate.victims.length);
    this.preempting.add(pod.metadata.uid);
    this.evictAll(pod, candidate).catch((error: unknown) => {
      this.preempting.delete(pod.metadata.uid);
      if (signal.aborted) return;
      report("Failed to preempt pods", error);
      activate(pod);
    });
  }

  private async evictAll(pod: Pod, { node, victims }: Candidate): Promise<void> {
    await this.clearNominations(pod, node);
    const last = victims.at(-1);
    const others = victims.slice(0, -1);
    await Promise.all(others.map((victim) => this.evict(pod, victim, node)));
    // The deletion of the last victim wakes the pod, which must not be held back any more.
    this.preempting.delete(pod.metadata.uid);
    if (last !== undefined) await this.evict(pod, last, node);
  }

  /** Pods of lower priority may no longer fit on the node that they are nominated to. */
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
