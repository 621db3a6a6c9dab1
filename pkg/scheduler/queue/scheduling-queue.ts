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
  /** PreEnqueue plugins of the profile of a pod, in order. */
  readonly preEnqueuesOf: (pod: Pod) => readonly Plugin[];
}

/** Metric labels of queue moves that are not caused by a cluster event. */
const attemptFailure = "ScheduleAttemptFailure";
const backoffComplete = "BackoffComplete";
const popFromBackoff = "PopFromBackoffQ";

/** kube-scheduler's podMaxInUnschedulablePodsDuration: then a pod is retried without an event. */
const maxUnschedulableMs = 5 * 60_000;

type QueueingStrategy = "skip" | "after-backoff" | "immediately";

/**
 * kube-scheduler's PriorityQueue: active pods in queue-sort order, pods in backoff after a failed attempt,
 * and unschedulable pods that wait for an event for which a rejecting plugin has registered.
 */
export class SchedulingQueue {
  private readonly active: Heap<QueuedPod>;
  private readonly backoff: BackoffQueue;
  private readonly unschedulable = new Map<string, QueuedPod>();
  private readonly inFlight = new InFlight();
  private readonly waiting: (() => void)[] = [];
  private readonly registrations = new Map<readonly Plugin[], Registrations>();
  private readonly backoffWaiters: (() => void)[] = [];
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

  /** Updates a pod, and requeues it if the changes may make it schedulable. */
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
    else this.requeueOn(known, changes);
    return info;
  }

  delete({ metadata: { uid } }: Pod): void {
    this.active.delete(uid);
    this.backoff.delete(uid);
    this.unschedulable.delete(uid);
  }

  /** Waits for the next pod and marks it in flight; undefined = the queue is closed. */
  async pop(): Promise<QueuedPod | undefined> {
    for (;;) {
      if (this.isClosed) return undefined;
      const next = this.active.pop() ?? this.popBackoff();
      if (next !== undefined) return this.markInFlight(next);
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  /** Ends the in-flight state of a pod that is not requeued. */
  done({ metadata: { uid } }: Pod): void {
    this.inFlight.end(uid);
  }

  /**
   * Returns a pod to the queue after a failed attempt: to backoff if a change during the attempt may have
   * made it schedulable or if it failed with an error, else to the unschedulable pods.
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
    const strategy = hasRejectors ? this.strategyFor(pod, changes) : "after-backoff";
    if (strategy === "skip") {
      this.unschedulable.set(uid, pod);
      this.metrics.countIncoming("unschedulable", attemptFailure);
    } else this.requeue(pod, strategy, attemptFailure);
  }

  /** Requeues the unschedulable pods that the change may have made schedulable. */
  moveAll(change: ClusterChange, isCandidate: (pod: Pod) => boolean = () => true): void {
    this.inFlight.record(change);
    if (this.unschedulable.size === 0) return;
    // A copy, since gated pods are re-added during the loop.
    const pods = [...this.unschedulable.values()];
    for (const pod of pods) {
      if (isCandidate(pod.info.pod)) this.requeueOn(pod, [change]);
    }
  }

  /** Activates a pod after a failed asynchronous step of its own, e.g. an eviction. */
  forceActivate(pod: Pod): void {
    const { uid } = pod.metadata;
    const change = { event: forceActivate, before: undefined, after: pod };
    if (this.inFlight.has(uid)) return this.inFlight.record(change);
    const known = this.unschedulable.get(uid) ?? this.backoff.get(uid);
    if (known === undefined) return;
    this.delete(pod);
    this.activate(known, forceActivate.label);
  }

  /** Resolves when a pod is in backoff, or the queue is closed. */
  untilBackoff(): Promise<void> {
    if (this.backoff.size > 0 || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => this.backoffWaiters.push(resolve));
  }

  /** Activates pods whose backoff has expired. */
  flushBackoff(): void {
    const now = this.options.clock.now();
    for (let pod = this.backoff.popExpired(now); pod; pod = this.backoff.popExpired(now)) {
      this.activate(pod, backoffComplete);
    }
  }

  get hasUnschedulable(): boolean {
    return this.unschedulable.size > 0;
  }

  /** Requeues pods that have been unschedulable for five minutes. */
  flushUnschedulable(): void {
    const now = this.options.clock.now();
    const change = { event: unschedulableTimeout, before: undefined, after: undefined };
    const pods = [...this.unschedulable.values()];
    for (const pod of pods) {
      if (now - pod.timestamp > maxUnschedulableMs) this.requeueOn(pod, [change]);
    }
  }

  close(): void {
    this.isClosed = true;
    for (const requeueOn of this.waiting.splice(0)) requeueOn();
    for (const requeueOn of this.backoffWaiters.splice(0)) requeueOn();
  }

  private find(uid: string): QueuedPod | undefined {
    return this.active.get(uid) ?? this.backoff.get(uid) ?? this.unschedulable.get(uid);
  }

  /** A pod from backoff before its expiry, if the active queue is empty (SchedulerPopFromBackoffQ). */
  private popBackoff(): QueuedPod | undefined {
    const pod = this.backoff.popUnfit();
    if (pod !== undefined) this.metrics.countIncoming("active", popFromBackoff);
    return pod;
  }

  private markInFlight(pod: QueuedPod): QueuedPod {
    const { uid } = pod.info.pod.metadata;
    this.inFlight.begin(uid);
    pod.attempts++;
    pod.unschedulablePlugins = new Set();
    pod.pendingPlugins = new Set();
    return pod;
  }

  private requeueOn(pod: QueuedPod, changes: readonly ClusterChange[]): void {
    if (pod.gatedBy !== "") {
      if (!this.concernsGate(pod, changes) || this.gatingPlugin(pod) === pod.gatedBy) return;
    }
    const strategy = this.strategyFor(pod, changes);
    if (strategy === "skip") return;
    this.unschedulable.delete(pod.info.pod.metadata.uid);
    this.requeue(pod, strategy, changes[0]?.event.label ?? "");
  }

  private requeue(pod: QueuedPod, strategy: QueueingStrategy, event: string): void {
    const isBackingOff = this.backoff.isBackingOff(pod, this.options.clock.now());
    if (strategy === "immediately" || !isBackingOff) return this.activate(pod, event);
    if (this.isGated(pod, event)) return;
    this.backoff.set(pod);
    for (const requeueOn of this.backoffWaiters.splice(0)) requeueOn();
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

  /** Name of the PreEnqueue plugin that gates the pod; "" = none. */
  private gatingPlugin({ info: { pod } }: QueuedPod): string {
    const plugins = this.options.preEnqueuesOf(pod);
    return plugins.find(({ preEnqueue }) => preEnqueue?.(pod) !== undefined)?.name ?? "";
  }

  /** Runs PreEnqueue plugins; a gated pod moves to the unschedulable ones. */
  private isGated(pod: QueuedPod, event: string): boolean {
    pod.gatedBy = this.gatingPlugin(pod);
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

  private strategyFor(pod: QueuedPod, changes: readonly ClusterChange[]): QueueingStrategy {
    if (pod.unschedulablePlugins.size + pod.pendingPlugins.size === 0) return "after-backoff";
    let strategy: QueueingStrategy = "skip";
    for (const change of changes) {
      const one = this.strategyForChange(pod, change);
      if (one === "immediately") return one;
      if (one !== "skip") strategy = one;
    }
    return strategy;
  }

  private strategyForChange(queued: QueuedPod, change: ClusterChange): QueueingStrategy {
    const { pod } = queued.info;
    if (isWildcard(change.event)) {
      const { after } = change;
      const isOther = after !== undefined && after.metadata.uid !== pod.metadata.uid;
      return isOther ? "skip" : "after-backoff";
    }
    let strategy: QueueingStrategy = "skip";
    for (const { plugin, hint } of this.registrationsOf(queued).matching(change.event)) {
      const isPending = queued.pendingPlugins.has(plugin);
      if (!isPending && !queued.unschedulablePlugins.has(plugin)) continue;
      const isQueued = this.metrics.timedHint(plugin, change.event.label, () => {
        return hint === undefined || hint(pod, change);
      });
      if (!isQueued) continue;
      if (isPending) return "immediately";
      strategy = "after-backoff";
    }
    return strategy;
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

  /** Number of pods, by metric label `queue`. */
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
