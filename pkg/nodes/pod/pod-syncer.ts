import { deepEqual } from "#base";
import { CoreEventRecorder, type Informer, objectKey, WorkQueue } from "#client";
import { type ContainerStatus, type Pod, type PodCondition, pods, type PodStatus } from "#kinds";
import { isConflict, isNotFound } from "#meta";
import { wishesOf } from "../annotations.ts";
import type { PodDevices } from "../devices/pod-devices.ts";
import type { NodesContext, NodesSettings } from "../settings.ts";
import { TimerHeap } from "../timers.ts";
import { allocatedPod, newAllocation } from "./allocation.ts";
import { refusalOf } from "./node-admission.ts";
import { PodResizes, resizeRetryMs } from "./pod-resizes.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import type { PodHost } from "./pod-host.ts";
import { advance, type PodFailure, type PodRun } from "./pod-run.ts";
import { podStatus } from "./pod-status.ts";
import { restorePodRun } from "./restore.ts";

export interface PodSyncerOptions {
  readonly context: NodesContext;
  readonly settings: NodesSettings;
  readonly pods: Informer<Pod>;
  /** Pods that are bound to a node. */
  readonly podsOf: (node: string) => readonly Pod[];
  readonly devices: PodDevices;
  readonly volumes: PodVolumes;
  /** The node of that name if it is one of this process. */
  readonly hostOf: (node: string) => PodHost | undefined;
  /** Whether Stages decide what happens to the pod, so that this simulation leaves it alone. */
  readonly isStaged: (pod: Pod) => boolean;
}

interface Simulated {
  readonly run: PodRun;
  readonly node: string;
  /** The pod as this process wrote it last, until the informer has seen that. */
  written: Pod | undefined;
}

/** Pods that are worked on at the same time. */
const workers = 32;
const retryDelays = { firstMs: 200, longestMs: 30_000 };
/** Until a pod without an address is tried again. */
const noAddressMs = 10_000;

/** Runs the pods of all nodes of the process: one queue and one heap of timers for all. */
export class PodSyncer {
  private readonly simulated = new Map<string, Simulated>();
  private readonly queue: WorkQueue;
  private readonly timers: TimerHeap;
  private readonly recorder: CoreEventRecorder;
  private readonly resizes: PodResizes;

  constructor(private readonly options: PodSyncerOptions) {
    const { context, hostOf } = options;
    this.recorder = new CoreEventRecorder({ ...context, client: context.storageClient }, "kubelet");
    this.resizes = new PodResizes({
      clock: context.clock,
      recorder: this.recorder,
      hostOf,
      podOf: (key) => this.podOf(key),
      admittedOn: (node) => this.admittedOn(node),
      wake: (key) => this.wake(key),
    });
    this.queue = new WorkQueue({ ...context, name: "simulated_pods", delays: retryDelays });
    this.timers = new TimerHeap(context.clock, context.signal, (key) => this.queue.add(key));
  }

  /** Works until the signal aborts. */
  async run(): Promise<void> {
    const unsubscribe = this.options.pods.subscribe(({ type, object }) => {
      const { nodeName = "" } = object.spec ?? {};
      if (this.options.hostOf(nodeName) === undefined) return;
      if (type === "deleted") this.forget(object);
      else this.queue.add(objectKey(object));
    });
    const working = this.queue.run((key) => this.sync(key), { workers });
    await Promise.all([working, this.recorder.run()]);
    unsubscribe();
  }

  /** Looks at a pod again, by its key. */
  wake(key: string): void {
    this.queue.add(key);
  }

  /** Looks at pods again, as after a change of their node. */
  resync(pods: Iterable<Pod>): void {
    for (const pod of pods) this.queue.add(objectKey(pod));
  }

  /** Ends a pod that is active, as a kubelet does under pressure. */
  evict(pod: Pod, message: string): void {
    const run = this.simulated.get(objectKey(pod))?.run;
    if (run?.uid !== pod.metadata.uid || run.failure !== undefined) return;
    run.failure = { reason: "Evicted", message };
    this.record(pod, "Warning", run.failure);
    this.queue.add(objectKey(pod));
  }

  private record(pod: Pod, type: "Normal" | "Warning", failure: PodFailure): void {
    this.recorder.record(pods, pod, { type, ...failure, host: pod.spec?.nodeName ?? "" });
  }

  private forget(pod: Pod): void {
    const key = objectKey(pod);
    const known = this.simulated.get(key);
    if (known === undefined || known.run.uid !== pod.metadata.uid) return;
    this.simulated.delete(key);
    this.timers.clear(key);
    this.options.volumes.unmount(known.run.uid);
    this.options.hostOf(known.node)?.addresses?.release(known.run.uid);
    this.resizes.forget(pod, known.node);
  }

  private podOf(key: string): { readonly pod: Pod; readonly run: PodRun } | undefined {
    const known = this.simulated.get(key);
    const seen = this.options.pods.get(key);
    if (known === undefined || seen?.metadata.uid !== known.run.uid) return undefined;
    return { pod: newerOf(seen, known.written), run: known.run };
  }

  /** Pods that a node has admitted and that have not ended, as they are allocated. */
  private admittedOn(node: string): readonly Pod[] {
    return this.options
      .podsOf(node)
      .filter((pod) => this.isActive(pod))
      .map((pod) => allocatedPod(pod, this.simulated.get(objectKey(pod))?.run.allocation));
  }

  private async sync(key: string): Promise<void> {
    const seen = this.options.pods.get(key);
    const host = this.options.hostOf(seen?.spec?.nodeName ?? "");
    if (seen === undefined || host?.isWorking !== true) return;
    if (this.options.isStaged(seen)) {
      this.simulated.delete(key);
      return this.timers.clear(key);
    }
    const known = this.knownOf(key, seen);
    const newer = newerOf(seen, known.written);
    if (newer === seen) known.written = undefined;
    const { run } = known;
    if (!run.isAdmitted) this.admit(run, newer, host);
    const pod = this.resizes.sync(newer, run, host);
    const { clock } = this.options.context;
    const now = clock.now();
    const { delays } = host;
    const isPrepared = run.isFinished || (await this.options.devices.prepare(pod));
    const mayStart = isPrepared || run.isSandboxReady;
    const wishes = mayStart ? wishesOf(pod) : { ...wishesOf(pod), neverStarts: true };
    const mounts = this.mount(run, pod, now);
    const step = { pod, wishes, delays, now, areVolumesMounted: mounts.isMounted };
    const { isFinished: wasFinished, failure: before } = run;
    const isDeferred = run.allocation?.pending?.reason === "Deferred";
    const retryAt = isDeferred ? now + resizeRetryMs : Infinity;
    const next = Math.min(advance(run, step), mounts.retryAt, retryAt);
    if (run.isFinished) this.options.volumes.unmount(run.uid);
    const { failure } = run;
    if (failure !== undefined && before === undefined) this.record(pod, "Normal", failure);
    if (run.isFinished && !wasFinished) this.resizes.forget(pod, host.name);
    const isAddressed = this.address(run, pod, host);
    const plain = podStatus(run, { ...step, hostIps: host.hostIps });
    const status = this.options.devices.withHealth(pod, plain);
    const patch = statusPatch(pod, status);
    if (patch !== undefined) await this.write(known, host, { pod, patch });
    if (run.isFinished && isTerminating(pod)) await this.remove(pod, host);
    const wakeAt = isAddressed ? next : Math.min(next, now + noAddressMs);
    if (this.simulated.get(key) !== known) return;
    if (wakeAt === Infinity) this.timers.clear(key);
    else this.timers.set(key, clock.monotonic() + wakeAt - now);
  }

  /** Mounts the volumes of a pod that is to start, and finds those of one that runs. */
  private mount(run: PodRun, pod: Pod, now: number) {
    const isGoing = pod.metadata.deletionTimestamp !== undefined && !run.isSandboxReady;
    if (run.isFinished || isGoing) return { isMounted: false, retryAt: Infinity };
    return this.options.volumes.mount(pod, { isRunning: run.isSandboxReady, now });
  }

  private knownOf(key: string, pod: Pod): Simulated {
    const known = this.simulated.get(key);
    if (known?.run.uid === pod.metadata.uid) return known;
    const run = restorePodRun(pod, this.options.context.clock.now());
    const node = pod.spec?.nodeName ?? "";
    const simulated = { run, node, written: undefined };
    this.simulated.set(key, simulated);
    return simulated;
  }

  /** Admits a pod to its node, or ends it before it starts. */
  private admit(run: PodRun, pod: Pod, { name, object: node, client }: PodHost): void {
    const others = this.admittedOn(name);
    run.isAdmitted = true;
    run.allocation = newAllocation(pod);
    const refusal = node && refusalOf(pod, { node, others, domain: client.domain });
    if (refusal === undefined) return;
    this.record(pod, "Warning", refusal);
    run.failure = { ...refusal, message: `Pod was rejected: ${refusal.message}` };
    run.isRefused = true;
    run.isFinished = true;
  }

  /** Whether a pod has been admitted and has not ended. */
  isActive(pod: Pod): boolean {
    const run = this.simulated.get(objectKey(pod))?.run;
    if (run?.uid !== pod.metadata.uid) return false;
    return run.isAdmitted && !run.isFinished && run.failure === undefined;
  }

  /** Gives a sandbox its address, and frees that of a pod that has ended. False = there is none. */
  private address(run: PodRun, { metadata, spec }: Pod, { addresses }: PodHost): boolean {
    if (spec?.hostNetwork === true) return true;
    if (run.isFinished) {
      addresses?.release(metadata.uid);
      return true;
    }
    if (!run.isSandboxReady) return true;
    run.ips ??= addresses?.take(metadata.uid);
    return run.ips !== undefined;
  }

  private async write(
    known: Simulated,
    { client }: PodHost,
    { pod, patch }: { readonly pod: Pod; readonly patch: object },
  ): Promise<void> {
    const { namespace = "", name, uid } = pod.metadata;
    const at = { namespace, name, subresource: "status" };
    const body = { metadata: { uid }, status: patch };
    try {
      known.written = await client.patch(pods, at, { type: "strategic", body });
    } catch (error) {
      // Another pod has the name, or none: the informer will tell.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Deletes a pod that was to be deleted and has ended. */
  private async remove({ metadata }: Pod, { client }: PodHost): Promise<void> {
    const { namespace = "", name, uid } = metadata;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    try {
      await client.delete(pods, { namespace, name }, options);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

/** Whether the pod waits for its node; one without a grace period waits for finalizers only. */
function isTerminating({ metadata }: Pod): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return deletionTimestamp !== undefined && Number(deletionGracePeriodSeconds ?? 0) > 0;
}

function newerOf(seen: Pod, written: Pod | undefined): Pod {
  if (written === undefined || written.metadata.uid !== seen.metadata.uid) return seen;
  const versions = [seen, written].map(({ metadata }) => BigInt(metadata.resourceVersion));
  return versions[0]! >= versions[1]! ? seen : written;
}

/**
 * The fields of a status that differ from the stored ones, for a strategic merge patch; undefined =
 * none does. Conditions of other writers stay as they are.
 */
function statusPatch({ status: old = {} }: Pod, status: PodStatus): object | undefined {
  const changed = Object.entries(status).filter(([name, value]) => {
    if (name === "conditions") return false;
    const known = old[name as keyof PodStatus];
    return !deepEqual(value, known) && !deepEqual(withoutAllocated(value, known), known);
  });
  const conditions = status.conditions?.flatMap((condition) => {
    const known = old.conditions?.find(({ type }) => type === condition.type);
    return deepEqual(condition, withNullProbe(known)) ? [] : [{ ...cleared(known), ...condition }];
  });
  const dropped = (old.conditions ?? [])
    .filter(({ type }) => kubeletConditionTypes.has(type))
    .filter(({ type }) => status.conditions?.some((each) => each.type === type) === false)
    .map(({ type }) => ({ $patch: "delete", type }));
  const merged = [...(conditions ?? []), ...dropped];
  if (changed.length === 0 && merged.length === 0) return undefined;
  return { ...Object.fromEntries(changed), ...(merged.length === 0 ? {} : { conditions: merged }) };
}

/** Conditions that belong to the kubelet: it drops those that do not apply. */
const kubeletConditionTypes = new Set([
  "PodScheduled",
  "Ready",
  "Initialized",
  "ContainersReady",
  "PodReadyToStartContainers",
  "PodResizeInProgress",
  "PodResizePending",
]);

/** Container statuses without the allocated resources that the server does not keep by default. */
function withoutAllocated(value: unknown, known: unknown): unknown {
  if (!Array.isArray(value) || !Array.isArray(known)) return value;
  return value.map((status: ContainerStatus, at) => {
    const { resources, allocatedResources } = (known[at] ?? {}) as Partial<ContainerStatus>;
    if (resources === undefined || allocatedResources !== undefined) return status;
    const { allocatedResources: _, ...rest } = status;
    return rest;
  });
}

function withNullProbe<T extends object>(condition: T | undefined): T | undefined {
  return condition && { lastProbeTime: null, ...condition };
}

/** A merge keeps fields that a patch leaves out: those that a condition may lose are removed. */
function cleared({ reason, message }: Partial<PodCondition> = {}): object {
  return {
    ...(reason === undefined ? {} : { reason: null }),
    ...(message === undefined ? {} : { message: null }),
  };
}
