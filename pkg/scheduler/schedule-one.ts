import { realClock, yieldEvery } from "#base";
import { namespaceOf, type Pod } from "#kinds";
import { isConflict } from "#meta";
import type { Cache } from "./cache/cache.ts";
import type { Snapshot } from "./cache/snapshot.ts";
import type { Extenders } from "./extenders/extenders.ts";
import { assignedPodDelete } from "./framework/cluster-events.ts";
import type { QueuedPod, SchedulingContext } from "./framework/contract.ts";
import { CycleState } from "./framework/cycle-state.ts";
import { addPluginStatus, FitError, newDiagnosis } from "./framework/fit-error.ts";
import type { Framework } from "./framework/framework.ts";
import { pluginMetricsSamplePercent } from "./framework/framework-metrics.ts";
import type { PluginHandle } from "./framework/handle.ts";
import { type PodInfo, podInfoOf } from "./framework/pod-info.ts";
import { isRejected, type Status } from "./framework/status.ts";
import type { SchedulingQueue } from "./queue/scheduling-queue.ts";
import { type NodeSelection, NoNodesError } from "./schedule-pod.ts";

/** Dependencies of the scheduling loop. */
export interface SchedulingParts {
  readonly handle: PluginHandle;
  readonly cache: Cache;
  readonly snapshot: Snapshot;
  readonly queue: SchedulingQueue;
  readonly selection: NodeSelection;
  readonly extenders: Extenders;
  readonly frameworkOf: (pod: Pod) => Framework | undefined;
}

interface Attempt {
  readonly framework: Framework;
  readonly queued: QueuedPod;
  readonly context: SchedulingContext;
  /** Monotonic time in milliseconds. */
  readonly began: number;
}

/** Maximum length of an Event's note. */
const maxNoteLength = 1_024;
const ellipsis = " ...";

/** Runs scheduling cycles sequentially and binding cycles concurrently. */
export class SchedulingLoop {
  private readonly bindings = new Set<Promise<void>>();
  private readonly rest = yieldEvery();

  constructor(private readonly parts: SchedulingParts) {
    const { instruments } = parts.handle;
    instruments.beforeRead(() => {
      instruments.set("scheduler_goroutines", { operation: "binding" }, this.bindings.size);
    });
  }

  /** Runs until the queue is closed and all bindings have ended. */
  async run(): Promise<void> {
    const { queue } = this.parts;
    for (let next = await queue.pop(); next !== undefined; next = await queue.pop()) {
      await this.scheduleOne(next);
      const pause = this.rest();
      if (pause !== undefined) await pause;
    }
    await Promise.all(this.bindings);
  }

  private async scheduleOne(queued: QueuedPod): Promise<void> {
    const { handle, queue, frameworkOf } = this.parts;
    const { pod } = queued.info;
    const framework = frameworkOf(pod);
    if (framework === undefined || this.isObsolete(pod)) return queue.done(pod);
    const state = new CycleState();
    state.recordsPluginMetrics = handle.random.below(100) < pluginMetricsSamplePercent;
    const context = { state, podInfo: queued.info, pod, rest: this.rest };
    const attempt = { framework, queued, context, began: realClock(handle.clock).monotonic() };
    try {
      const node = await this.schedulingCycle(attempt);
      const binding = this.bindingCycle(attempt, node).finally(() => this.bindings.delete(binding));
      this.bindings.add(binding);
    } catch (error) {
      if (handle.signal.aborted) return;
      await this.handleFailure(attempt, error);
    }
  }

  /** Whether to skip a pod, because it is deleted or already assumed. */
  private isObsolete(pod: Pod): boolean {
    const { handle, cache } = this.parts;
    const current = handle.currentPod(pod);
    if (current?.metadata.uid !== pod.metadata.uid) return true;
    return current.metadata.deletionTimestamp !== undefined || cache.isAssumed(pod);
  }

  /** Scheduling cycle: selects a node, assumes the pod on it and reserves. */
  private async schedulingCycle(attempt: Attempt): Promise<string> {
    const { cache, snapshot, selection, handle } = this.parts;
    const { framework, context, queued } = attempt;
    cache.updateSnapshot(snapshot);
    const node = await selection.select(framework, context);
    handle.instruments.observe(
      "scheduler_scheduling_algorithm_duration_seconds",
      {},
      (realClock(handle.clock).monotonic() - attempt.began) / 1000,
    );
    cache.assume(assumedInfo(queued.info, node), node);
    handle.nominator.delete(context.pod);
    const status = await framework.reserve(context, node);
    if (status === undefined) return node;
    this.release(attempt, node);
    throw rejection(status, node);
  }

  private release({ framework, context }: Attempt, node: string): void {
    framework.unreserve(context, node);
    this.parts.cache.forget(context.pod);
  }

  private async bindingCycle(attempt: Attempt, node: string): Promise<void> {
    const { handle, queue } = this.parts;
    const { framework, context, queued } = attempt;
    try {
      const status = await this.runBinding(attempt, node);
      if (status !== undefined) throw rejection(status, node);
      this.observeAttempt(attempt, "scheduled");
      this.observeScheduled(queued);
      framework.postBind(context, node);
      const { name } = context.pod.metadata;
      const note = `Successfully assigned ${namespaceOf(context.pod)}/${name} to ${node}`;
      const event = { type: "Normal", reason: "Scheduled", action: "Binding", note } as const;
      handle.recordEvent(context.pod, event);
    } catch (error) {
      this.release(attempt, node);
      if (handle.signal.aborted) return;
      const { uid } = context.pod.metadata;
      const change = { event: assignedPodDelete, before: onNode(context.pod, node) };
      const isOther = (pod: Pod) => pod.metadata.uid !== uid;
      queue.moveAll({ ...change, after: undefined }, isOther);
      await this.handleFailure(attempt, error);
    }
  }

  private async runBinding(attempt: Attempt, node: string): Promise<Status | undefined> {
    const { framework, context } = attempt;
    const { status, waits } = await framework.permit(context, node);
    if (status !== undefined) return status;
    const refused = await this.waitOnPermit(waits);
    if (refused !== undefined) return refused;
    const prepared = await framework.preBind(context, node);
    if (prepared !== undefined) return prepared;
    // From here on the pod cannot become unschedulable: stop recording events for it.
    this.parts.queue.done(context.pod);
    if (await this.parts.extenders.bind(context.pod, node)) return undefined;
    return framework.bind(context, node);
  }

  private async waitOnPermit(
    waits: readonly Promise<Status | undefined>[],
  ): Promise<Status | undefined> {
    if (waits.length === 0) return undefined;
    const { instruments, clock } = this.parts.handle;
    const began = clock.monotonic();
    const decisions = await Promise.all(waits);
    const refused = decisions.find((decision) => decision !== undefined);
    const labels = { result: refused?.code ?? "Success" };
    const seconds = (clock.monotonic() - began) / 1000;
    instruments.observe("scheduler_permit_wait_duration_seconds", labels, seconds);
    return refused;
  }

  /** Handles a failed cycle: runs PostFilter plugins, requeues the pod, writes condition and Event. */
  private async handleFailure(attempt: Attempt, error: unknown): Promise<void> {
    const { handle, queue } = this.parts;
    const { queued, context } = attempt;
    let nominatedNodeName: string | undefined = "";
    try {
      if (error instanceof FitError && error.hasPostFilter) {
        nominatedNodeName = await this.postFilter(attempt, error);
      }
      const isUnschedulable = error instanceof FitError || error instanceof NoNodesError;
      if (error instanceof FitError) {
        queued.unschedulablePlugins = error.diagnosis.unschedulablePlugins;
        queued.pendingPlugins = error.diagnosis.pendingPlugins;
      } else if (!isUnschedulable) {
        handle.report(`Failed to schedule pod ${nameOf(context.pod)}`, error);
      }
      this.observeAttempt(attempt, isUnschedulable ? "unschedulable" : "error");
      if (!this.requeue(attempt, nominatedNodeName)) return;
      // Conflict: the pod has changed, and is possibly bound. The informer event decides.
      if (error instanceof Error && isConflict(error.cause ?? error)) return;
      const reason = isUnschedulable ? "Unschedulable" : "SchedulerError";
      this.recordFailure(context.pod, { reason, message: textOf(error), nominatedNodeName });
    } finally {
      queue.done(context.pod);
    }
  }

  private async postFilter({ framework, context }: Attempt, error: FitError) {
    const { diagnosis } = error;
    try {
      const result = await framework.postFilter(context, diagnosis.nodeToStatus);
      const { status, nominatedNodeName } = result;
      diagnosis.postFilterMessage = status?.reasons.join(", ") ?? "";
      return nominatedNodeName;
    } catch (failure) {
      this.parts.handle.report(`Failed to preempt for pod ${nameOf(context.pod)}`, failure);
      return undefined;
    }
  }

  /** Requeues a pod unless it is deleted or bound; returns whether to write its status. */
  private requeue({ queued, context }: Attempt, nominated: string | undefined): boolean {
    const { handle, queue } = this.parts;
    const current = handle.currentPod(context.pod);
    const isSame = current?.metadata.uid === context.pod.metadata.uid;
    if (current === undefined || !isSame || current.spec?.nodeName) return false;
    if (current !== context.pod) queued.info = podInfoOf(current);
    queue.addUnschedulable(queued);
    const node = nominated ?? current.status?.nominatedNodeName ?? "";
    handle.nominator.set(queued.info, node);
    return true;
  }

  private recordFailure(
    pod: Pod,
    failure: {
      readonly reason: string;
      readonly message: string;
      readonly nominatedNodeName: string | undefined;
    },
  ): void {
    const { handle } = this.parts;
    const { reason, message, nominatedNodeName } = failure;
    const isLong = message.length > maxNoteLength;
    const note = isLong
      ? `${message.slice(0, maxNoteLength - ellipsis.length)}${ellipsis}`
      : message;
    const type = "Warning";
    handle.recordEvent(pod, { type, reason: "FailedScheduling", action: "Scheduling", note });
    const condition = { type: "PodScheduled", status: "False", reason, message } as const;
    const patch = nominatedNodeName === undefined ? {} : { nominatedNodeName };
    handle.patchStatus(pod, { condition, ...patch }).catch((error: unknown) => {
      if (!handle.signal.aborted) handle.report(`Failed to update pod ${nameOf(pod)}`, error);
    });
  }

  private observeAttempt({ framework, began }: Attempt, result: string): void {
    const { instruments, clock } = this.parts.handle;
    const labels = { result, profile: framework.profileName };
    const seconds = (realClock(clock).monotonic() - began) / 1000;
    instruments.add("scheduler_schedule_attempts_total", labels, 1);
    instruments.observe("scheduler_scheduling_attempt_duration_seconds", labels, seconds);
  }

  private observeScheduled({ attempts, initialAttempt }: QueuedPod): void {
    const { instruments, clock } = this.parts.handle;
    const label = attempts >= 15 ? "15+" : String(attempts);
    const seconds = Math.max(clock.now() - initialAttempt, 0) / 1000;
    instruments.observe("scheduler_pod_scheduling_attempts", {}, attempts);
    instruments.observe(
      "scheduler_pod_scheduling_sli_duration_seconds",
      { attempts: label },
      seconds,
    );
  }
}

function onNode(pod: Pod, nodeName: string): Pod {
  return { ...pod, spec: { ...pod.spec, nodeName } };
}

function assumedInfo(info: PodInfo, node: string): PodInfo {
  return { ...info, pod: onNode(info.pod, node) };
}

function nameOf(pod: Pod): string {
  return `${namespaceOf(pod)}/${pod.metadata.name}`;
}

function textOf(error: unknown): string {
  if (error instanceof FitError) return error.text;
  return error instanceof Error ? error.message : String(error);
}

/** Error of a plugin's rejection of the selected node. */
function rejection(status: Status, node: string): unknown {
  if (!isRejected(status)) return status.error ?? new Error(status.reasons.join(", "));
  const diagnosis = newDiagnosis();
  diagnosis.nodeToStatus.set(node, status);
  addPluginStatus(diagnosis, status);
  return new FitError(1, diagnosis, false);
}
