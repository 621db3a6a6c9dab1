import { type Clock, realClock } from "#base";
import type { Pod } from "#kinds";
import type { Instruments } from "#request";
import {
  type ClusterChange,
  forceActivate,
  isWildcard,
  unscheduledPodAdd,
  unschedulableTimeout,
} from "../framework/cluster-events.ts";
import type { Plugin, QueuedPod } from "../framework/contract.ts";
import { type PodInfo, podInfoOf } from "../framework/pod-info.ts";
import { BackoffQueue, type BackoffTimes } from "./backoff-queue.ts";
import { Heap } from "./heap.ts";
import { InFlight } from "./in-flight.ts";
import { QueueMetrics } from "./queue-metrics.ts";
import { Registrations } from "./registrations.ts";

export interface QueueOptions {
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly backoff: BackoffTimes;
  readonly less: (a: QueuedPod, b: QueuedPod) => boolean;
  /** Plugins of the profile of a pod. */
  readonly pluginsOf: (pod: Pod) => readonly Plugin[];
  /** Those of them that may keep the pod out of the queue, in order. */
  readonly preEnqueuesOf: (pod: Pod) => readonly Plugin[];
}

/** Labels of metrics for pods that no event of the cluster moves. */
const attemptFailure = "ScheduleAttemptFailure";
const backoffComplete = "BackoffComplete";
const popFromBackoff = "PopFromBackoffQ";

/** Time after which a pod is tried again without a reason. */
const maxUnschedulableMs = 5 * 60_000;

type Verdict = "skip" | "after-backoff" | "at-once";

/**
 * Pods to schedule: active ones by priority, those in backoff after a failure, and unschedulable
 * ones that wait for a change that concerns the plugins that rejected them.
 */
export class SchedulingQueue {
  private readonly active: Heap<QueuedPod>;
  private readonly backoff: BackoffQueue;
  private readonly unschedulable = new Map<string, QueuedPod>();
  private readonly inFlight = new InFlight();
  private readonly waiting: (() => void)[] = [];
  private readonly registrations = new Map<readonly Plugin[], Registrations>();
  private readonly backoffWakers: (() => void)[] = [];
  private readonly metrics: QueueMetrics;
  private isClosed = false;

  constructor(private readonly options: QueueOptions) {
    const keyOf = ({ info }: QueuedPod) => info.pod.metadata.uid;
    this.active = new Heap(keyOf, options.less);
    this.backoff = new BackoffQueue(options.backoff, keyOf, options.less);
    const { instruments } = options;
    this.metrics = new QueueMetrics(instruments, realClock(options.clock));
    instruments.beforeRead(() => {
      this.metrics.setSizes(this.sizes());
      this.metrics.setRejections(this.queued());
      this.metrics.setInFlight(this.inFlight.counts());
    });
  }

  /** Adds a new pod. */
  add(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.find(uid) !== undefined || this.inFlight.has(uid)) return;
    this.activate(
      {
        info: podInfoOf(pod),
        timestamp: this.options.clock.now(),
        initialAttempt: 0,
        attempts: 0,
        unschedulableCount: 0,
        consecutiveErrors: 0,
        unschedulablePlugins: new Set(),
        pendingPlugins: new Set(),
        gatedBy: "",
      },
      unscheduledPodAdd.label,
    );
  }

  /** Takes over a newer version of a pod, which the change may make schedulable. */
  update(pod: Pod, changes: readonly ClusterChange[]): PodInfo {
    const { uid } = pod.metadata;
    const info = podInfoOf(pod);
    if (this.inFlight.has(uid)) {
      for (const change of changes) this.inFlight.record(change);
      return info;
    }
    const known = this.find(uid);
    if (known === undefined) {
      this.add(pod);
      return info;
    }
    known.info = info;
    if (this.active.get(uid) !== undefined) this.active.set(known);
    else if (this.backoff.get(uid) !== undefined) this.backoff.set(known);
    else this.wake(known, changes);
    return info;
  }

  delete({ metadata: { uid } }: Pod): void {
    this.active.delete(uid);
    this.backoff.delete(uid);
    this.unschedulable.delete(uid);
  }

  /** The next pod to schedule, which is in flight from now on; undefined once closed. */
  async pop(): Promise<QueuedPod | undefined> {
    for (;;) {
      if (this.isClosed) return undefined;
      const next = this.active.pop() ?? this.popBackoff();
      if (next !== undefined) return this.begin(next);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** Ends the flight of a pod that does not come back. */
  done({ metadata: { uid } }: Pod): void {
    this.inFlight.end(uid);
  }

  /**
   * Puts a pod back whose attempt failed. It is tried again after its backoff if a change during
   * the attempt may have made it schedulable, or if it failed with an error.
   */
  addUnschedulable(pod: QueuedPod): void {
    const { uid } = pod.info.pod.metadata;
    const changes = this.inFlight.changesSince(uid);
    this.inFlight.end(uid);
    if (this.find(uid) !== undefined) return;
    const hasRejectors = pod.unschedulablePlugins.size + pod.pendingPlugins.size > 0;
    if (hasRejectors) {
      pod.unschedulableCount++;
      pod.consecutiveErrors = 0;
    } else pod.consecutiveErrors++;
    pod.timestamp = this.options.clock.now();
    const verdict = hasRejectors ? this.verdictOf(pod, changes) : "after-backoff";
    if (verdict === "skip") {
      this.unschedulable.set(uid, pod);
      this.metrics.countIncoming("unschedulable", attemptFailure);
    } else this.requeue(pod, verdict, attemptFailure);
  }

  /** Wakes unschedulable pods that the change may have made schedulable. */
  moveAll(change: ClusterChange, isCandidate: (pod: Pod) => boolean = () => true): void {
    this.inFlight.record(change);
    if (this.unschedulable.size === 0) return;
    // A pod that stays gated is put back while this loop runs.
    const pods = [...this.unschedulable.values()];
    for (const pod of pods) {
      if (isCandidate(pod.info.pod)) this.wake(pod, [change]);
    }
  }

  /** Makes a pod active that an asynchronous step of its own has failed. */
  forceActivate(pod: Pod): void {
    const { uid } = pod.metadata;
    const change = { event: forceActivate, before: undefined, after: pod };
    if (this.inFlight.has(uid)) return this.inFlight.record(change);
    const known = this.unschedulable.get(uid) ?? this.backoff.get(uid);
    if (known === undefined) return;
    this.delete(pod);
    this.activate(known, forceActivate.label);
  }

  /** Resolves when a pod is in backoff, and when the queue is closed. */
  untilBackoff(): Promise<void> {
    if (this.backoff.size > 0 || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => this.backoffWakers.push(resolve));
  }

  /** Activates pods whose backoff has ended. */
  flushBackoff(): void {
    const now = this.options.clock.now();
    for (let pod = this.backoff.popExpired(now); pod; pod = this.backoff.popExpired(now)) {
      this.activate(pod, backoffComplete);
    }
  }

  get hasUnschedulable(): boolean {
    return this.unschedulable.size > 0;
  }

  /** Wakes pods that have been unschedulable for five minutes. */
  flushUnschedulable(): void {
    const now = this.options.clock.now();
    const change = { event: unschedulableTimeout, before: undefined, after: undefined };
    const pods = [...this.unschedulable.values()];
    for (const pod of pods) {
      if (now - pod.timestamp > maxUnschedulableMs) this.wake(pod, [change]);
    }
  }

  close(): void {
    this.isClosed = true;
    for (const wake of this.waiting.splice(0)) wake();
    for (const wake of this.backoffWakers.splice(0)) wake();
  }

  private find(uid: string): QueuedPod | undefined {
    return this.active.get(uid) ?? this.backoff.get(uid) ?? this.unschedulable.get(uid);
  }

  /** A pod whose backoff has not ended yet, while nothing else is to be done. */
  private popBackoff(): QueuedPod | undefined {
    const pod = this.backoff.popUnfit();
    if (pod !== undefined) this.metrics.countIncoming("active", popFromBackoff);
    return pod;
  }

  private begin(pod: QueuedPod): QueuedPod {
    const { uid } = pod.info.pod.metadata;
    this.inFlight.begin(uid);
    pod.attempts++;
    pod.unschedulablePlugins = new Set();
    pod.pendingPlugins = new Set();
    return pod;
  }

  private wake(pod: QueuedPod, changes: readonly ClusterChange[]): void {
    if (pod.gatedBy !== "") {
      if (!this.concernsGate(pod, changes) || this.gateOf(pod) === pod.gatedBy) return;
    }
    const verdict = this.verdictOf(pod, changes);
    if (verdict === "skip") return;
    this.unschedulable.delete(pod.info.pod.metadata.uid);
    this.requeue(pod, verdict, changes[0]?.event.label ?? "");
  }

  private requeue(pod: QueuedPod, verdict: Verdict, event: string): void {
    const isBackingOff = this.backoff.isBackingOff(pod, this.options.clock.now());
    if (verdict === "at-once" || !isBackingOff) return this.activate(pod, event);
    if (this.isGated(pod, event)) return;
    this.backoff.set(pod);
    for (const wake of this.backoffWakers.splice(0)) wake();
    this.metrics.countIncoming("backoff", event);
    this.waiting.shift()?.();
  }

  private activate(pod: QueuedPod, event: string): void {
    if (this.isGated(pod, event)) return;
    if (pod.initialAttempt === 0) pod.initialAttempt = this.options.clock.now();
    this.active.set(pod);
    this.metrics.countIncoming("active", event);
    this.waiting.shift()?.();
  }

  /** Name of the PreEnqueue plugin that keeps the pod out; "" = none. */
  private gateOf({ info: { pod } }: QueuedPod): string {
    const plugins = this.options.preEnqueuesOf(pod);
    return plugins.find(({ preEnqueue }) => preEnqueue?.(pod) !== undefined)?.name ?? "";
  }

  /** Runs PreEnqueue plugins; a pod that one of them keeps out is unschedulable. */
  private isGated(pod: QueuedPod, event: string): boolean {
    pod.gatedBy = this.gateOf(pod);
    if (pod.gatedBy === "") return false;
    pod.unschedulablePlugins = new Set([...pod.unschedulablePlugins, pod.gatedBy]);
    const { uid } = pod.info.pod.metadata;
    if (!this.unschedulable.has(uid)) this.metrics.countIncoming("unschedulable", event);
    this.unschedulable.set(uid, pod);
    return true;
  }

  private concernsGate(pod: QueuedPod, changes: readonly ClusterChange[]): boolean {
    const registrations = this.registrationsOf(pod);
    const concerns = ({ event }: ClusterChange) =>
      isWildcard(event) ||
      registrations.matching(event).some(({ plugin }) => plugin === pod.gatedBy);
    return changes.some(concerns);
  }

  private verdictOf(pod: QueuedPod, changes: readonly ClusterChange[]): Verdict {
    if (pod.unschedulablePlugins.size + pod.pendingPlugins.size === 0) return "after-backoff";
    let verdict: Verdict = "skip";
    for (const change of changes) {
      const one = this.verdictOn(pod, change);
      if (one === "at-once") return one;
      if (one !== "skip") verdict = one;
    }
    return verdict;
  }

  private verdictOn(queued: QueuedPod, change: ClusterChange): Verdict {
    const { pod } = queued.info;
    if (isWildcard(change.event)) {
      const { after } = change;
      const isOther = after !== undefined && after.metadata.uid !== pod.metadata.uid;
      return isOther ? "skip" : "after-backoff";
    }
    let verdict: Verdict = "skip";
    for (const { plugin, hint } of this.registrationsOf(queued).matching(change.event)) {
      const isPending = queued.pendingPlugins.has(plugin);
      if (!isPending && !queued.unschedulablePlugins.has(plugin)) continue;
      const isQueued = this.metrics.timedHint(plugin, change.event.label, () => {
        return hint === undefined || hint(pod, change);
      });
      if (!isQueued) continue;
      if (isPending) return "at-once";
      verdict = "after-backoff";
    }
    return verdict;
  }

  private registrationsOf({ info }: QueuedPod): Registrations {
    const plugins = this.options.pluginsOf(info.pod);
    const known = this.registrations.get(plugins);
    if (known !== undefined) return known;
    const made = new Registrations(plugins);
    this.registrations.set(plugins, made);
    return made;
  }

  private *queued(): Iterable<QueuedPod> {
    yield* this.active.values();
    yield* this.backoff.values();
    yield* this.unschedulable.values();
  }

  /** Numbers of pods by the label `queue` of their metric. */
  private sizes(): Readonly<Record<string, number>> {
    let gated = 0;
    for (const { gatedBy } of this.unschedulable.values()) if (gatedBy !== "") gated++;
    return {
      active: this.active.size,
      backoff: this.backoff.size,
      unschedulable: this.unschedulable.size - gated,
      gated,
    };
  }
}
