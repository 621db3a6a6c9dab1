import { type Informer, objectKey, WorkQueue } from "#client";
import { type Container, type Pod, pods } from "#kinds";
import { isConflict, isNotFound } from "#meta";
import { admit } from "../admission/node-admission.ts";
import { NodeAllocations } from "../admission/node-allocations.ts";
import { podSettingsOf } from "../annotations.ts";
import type { PodDevices } from "../devices/pod-devices.ts";
import type { KubeletEvent } from "../events/kubelet-event.ts";
import type { KubeletEvents } from "../events/kubelet-events.ts";
import type { NodesContext, NodesSettings } from "../settings.ts";
import { TimerHeap } from "../timers.ts";
import { allocatedPod, newAllocation } from "./allocation.ts";
import { fieldPathOf, type RecordContainerEvent } from "../events/container-events.ts";
import type { ContainerCommands, Start } from "../environment/container-commands.ts";
import { PodResizes, resizeRetryMs } from "./pod-resizes.ts";
import { Prober } from "../probes/prober.ts";
import type { StaticPods } from "../static-pods/static-pods.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import type { PodHost } from "./pod-host.ts";
import { type Advance, advance, beginStop, type PodRun } from "./pod-run.ts";
import type { PodFailure } from "../lifecycle/container-ends.ts";
import { podStatus } from "./pod-status.ts";
import { restorePodRun } from "./restore.ts";
import { statusPatch } from "./status-patch.ts";

export interface PodSyncerOptions {
  readonly context: NodesContext;
  readonly settings: NodesSettings;
  readonly pods: Informer<Pod>;
  /** Pods that are bound to a node. */
  readonly podsOf: (node: string) => readonly Pod[];
  readonly devices: PodDevices;
  readonly volumes: PodVolumes;
  readonly commands: ContainerCommands;
  readonly staticPods: StaticPods;
  readonly events: KubeletEvents;
  /** The node of that name; undefined = not simulated by this process. */
  readonly hostOf: (node: string) => PodHost | undefined;
  /** Whether KWOK Stages simulate the pod, so that this syncer ignores it. */
  readonly isStaged: (pod: Pod) => boolean;
}

interface Simulated {
  readonly run: PodRun;
  readonly node: string;
  /** Response of the last write, until the informer shows it. */
  written: Pod | undefined;
}

/** Number of pods synced concurrently. */
const workers = 32;
const retryDelays = { firstMs: 200, maxMs: 30_000 };
/** Retry delay of a pod without a free address. */
const noAddressMs = 10_000;
const networkMessage =
  "network is not ready: container runtime network not ready: NetworkReady=false " +
  "reason:NetworkPluginNotReady message:the node has no podCIDR";
const exhaustedMessage = (cidrs: readonly string[]): string =>
  `Failed to create pod sandbox: no addresses are left in ${cidrs.join()}`;
const preemptionMessage = "Preempted in order to admit critical pod";

/** Simulates the pods of all nodes of the process, with one work queue and one timer heap. */
export class PodSyncer {
  private readonly simulated = new Map<string, Simulated>();
  private readonly queue: WorkQueue;
  private readonly timers: TimerHeap;
  private readonly resizes: PodResizes;
  private readonly allocations = new NodeAllocations();
  private readonly prober: Prober;

  constructor(private readonly options: PodSyncerOptions) {
    const { context, hostOf, commands, settings } = options;
    const { strictSimulation: isStrict } = settings;
    this.prober = new Prober({ commands, clock: context.clock, isStrict });
    this.resizes = new PodResizes({
      clock: context.clock,
      events: options.events,
      hostOf,
      podOf: (key) => this.podOf(key),
      admit: (pod, run, host) => this.admissionFailure(pod, run, host),
      onAllocated: (pod, run, node) => this.allocate(pod, run, node),
      wake: (key) => this.enqueue(key),
    });
    this.queue = new WorkQueue({ ...context, name: "simulated_pods", delays: retryDelays });
    this.timers = new TimerHeap(context.clock, context.signal, (key) => this.queue.add(key));
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const unsubscribe = this.options.pods.subscribe(({ type, object }) => {
      const { nodeName = "" } = object.spec ?? {};
      // A pod may be deleted after its node.
      if (type === "deleted") this.forget(object);
      else if (this.options.hostOf(nodeName) !== undefined) this.queue.add(objectKey(object));
    });
    await this.queue.run((key) => this.sync(key), { workers });
    unsubscribe();
  }

  /** Enqueues a pod by key. */
  enqueue(key: string): void {
    this.queue.add(key);
  }

  /** Enqueues pods, e.g. after a change of their node. */
  resync(pods: Iterable<Pod>): void {
    for (const pod of pods) this.queue.add(objectKey(pod));
  }

  /** Evicts an active pod (node-pressure eviction). */
  evict(pod: Pod, message: string): void {
    this.end(pod, { reason: "Evicted", message });
  }

  private end(pod: Pod, failure: PodFailure): void {
    const key = objectKey(pod);
    const run = this.simulated.get(key)?.run;
    if (run?.uid !== this.options.staticPods.uidOf(pod) || run.failure !== undefined) return;
    run.failure = failure;
    this.record(this.options.staticPods.withoutMirrorDeletion(pod), "Warning", failure);
    this.queue.add(key);
  }

  private record(pod: Pod, type: KubeletEvent["type"], failure: PodFailure): void {
    this.options.events.recordPod(pod, { type, ...failure });
  }

  /** Drops the state of a deleted pod; a static pod keeps running without its mirror. */
  private forget(pod: Pod): void {
    const { staticPods } = this.options;
    const key = objectKey(pod);
    if (this.simulated.get(key)?.run.uid !== staticPods.uidOf(pod)) return;
    if (!staticPods.isMirror(pod)) this.drop(key);
  }

  private drop(key: string): void {
    const known = this.simulated.get(key);
    if (known === undefined) return;
    const { run, node } = known;
    this.simulated.delete(key);
    this.timers.clear(key);
    this.allocations.delete(node, run.uid);
    this.options.volumes.unmount(run.uid);
    this.options.commands.forget(key);
    this.options.hostOf(node)?.addresses?.release(run.uid);
    this.resizes.forget(key, node);
  }

  /** The last start of a container; undefined = never started. */
  startOf(pod: Pod, container: Container): Start | undefined {
    const known = this.simulated.get(objectKey(pod));
    const run = known?.run.containers.get(container.name);
    if (run === undefined || known?.run.uid !== pod.metadata.uid) return undefined;
    return { pod, container, run };
  }

  private podOf(key: string): { readonly pod: Pod; readonly run: PodRun } | undefined {
    const { pods: informer, staticPods } = this.options;
    const known = this.simulated.get(key);
    const seen = informer.get(key);
    if (known === undefined || seen === undefined) return undefined;
    if (staticPods.uidOf(seen) !== known.run.uid) return undefined;
    return { pod: staticPods.withoutMirrorDeletion(newerOf(seen, known.written)), run: known.run };
  }

  /** Active pods of a node, with their allocated resources. */
  private activeOn(node: string): readonly Pod[] {
    return this.options
      .podsOf(node)
      .filter((pod) => this.isActive(pod))
      .map((pod) => allocatedPod(pod, this.simulated.get(objectKey(pod))?.run.allocation));
  }

  private async sync(key: string): Promise<void> {
    const seen = this.options.pods.get(key);
    const host = this.options.hostOf(seen?.spec?.nodeName ?? "");
    if (seen === undefined) return this.options.staticPods.has(key) ? undefined : this.drop(key);
    if (host?.isWorking !== true) return;
    if (this.options.isStaged(seen)) return this.drop(key);
    const known = this.knownOf(key, seen);
    const stored = newerOf(seen, known.written);
    if (stored === seen) known.written = undefined;
    const wakeAt = await this.simulate(known, stored, host);
    if (this.simulated.get(key) !== known) return;
    const { clock } = this.options.context;
    if (wakeAt === Infinity) this.timers.clear(key);
    else this.timers.set(key, clock.monotonic() + wakeAt - clock.now());
  }

  /**
   * Advances the simulation of a pod to the current time and writes its status.
   * @param stored the pod in the API
   * @returns time in ms of the next step; Infinity = none without another event
   */
  private async simulate(known: Simulated, stored: Pod, host: PodHost): Promise<number> {
    const { staticPods, context, events, commands } = this.options;
    const { run } = known;
    const seen = staticPods.withoutMirrorDeletion(stored);
    const now = context.clock.now();
    const record: RecordContainerEvent = (container, event) =>
      events.recordPod(seen, event, fieldPathOf(seen, container));
    const isOrphan = staticPods.isOrphan(stored);
    if (isOrphan) beginStop(run, { pod: seen, now, record });
    if (!run.isAdmitted) this.admit(run, seen, host);
    const pod = this.resizes.sync(seen, run, host);
    const { retryAt, ...prepared } = await this.prepare(run, pod, { host, now });
    const { delays, hostIps } = host;
    const step = {
      pod,
      podSettings: podSettingsOf(pod),
      delays,
      commands,
      prober: this.prober,
      now,
      record,
      hostIps,
      ...prepared,
    };
    const next = this.advance(run, step, host);
    await this.report(known, step, { stored, host });
    if (run.isFinished && (isOrphan || isTerminating(pod))) await this.remove(stored, host);
    const isDeferred = run.allocation?.pending?.reason === "Deferred";
    return Math.min(next, retryAt, isDeferred ? now + resizeRetryMs : Infinity);
  }

  private advance(run: PodRun, step: Advance, { name: node, addresses }: PodHost): number {
    const { isFinished: wasFinished, failure: before } = run;
    const next = advance(run, step);
    const { failure } = run;
    if (failure !== undefined && before === undefined) this.record(step.pod, "Normal", failure);
    if (!run.isFinished) return next;
    this.allocations.delete(node, run.uid);
    this.options.volumes.unmount(run.uid);
    addresses?.release(run.uid);
    if (!wasFinished) this.resizes.forget(objectKey(step.pod), node);
    return next;
  }

  /** Writes the status of a pod if it has changed. */
  private async report(
    known: Simulated,
    step: Advance,
    { stored, host }: { readonly stored: Pod; readonly host: PodHost },
  ): Promise<void> {
    const status = this.options.devices.withHealth(step.pod, podStatus(known.run, step));
    const patch = statusPatch(step.pod, status);
    if (patch !== undefined) await this.write(known, host, { pod: stored, patch });
  }

  /** Prepares devices, volumes and addresses; returns whether the pod has all that it needs to start. */
  private async prepare(
    run: PodRun,
    pod: Pod,
    { host, now }: { readonly host: PodHost; readonly now: number },
  ): Promise<Pick<Advance, "mayStart" | "podIps"> & { readonly retryAt: number }> {
    if (run.isFinished) return { mayStart: false, podIps: run.ips, retryAt: Infinity };
    const isPrepared = await this.options.devices.prepare(pod);
    const podIps = run.ips ?? this.reserveAddresses(run, pod, host);
    const isAddressed = podIps !== undefined || run.isSandboxReady;
    const { isMounted, retryAt } = this.mount(run, pod, now);
    return {
      mayStart: isMounted && isAddressed && (isPrepared || run.isSandboxReady),
      podIps,
      retryAt: isAddressed ? retryAt : Math.min(retryAt, now + noAddressMs),
    };
  }

  /** Mounts the volumes of a starting pod, and restores the mounts of a running one. */
  private mount(run: PodRun, pod: Pod, now: number) {
    const isGoing = pod.metadata.deletionTimestamp !== undefined && !run.isSandboxReady;
    if (isGoing) return { isMounted: false, retryAt: Infinity };
    return this.options.volumes.mount(pod, { isRunning: run.isSandboxReady, now });
  }

  private knownOf(key: string, seen: Pod): Simulated {
    const pod = this.options.staticPods.withoutMirrorDeletion(seen);
    const known = this.simulated.get(key);
    if (known?.run.uid === pod.metadata.uid) return known;
    this.drop(key);
    const run = restorePodRun(pod, this.options.context.clock.now());
    const node = pod.spec?.nodeName ?? "";
    const simulated = { run, node, written: undefined };
    this.simulated.set(key, simulated);
    if (run.isAdmitted && !run.isFinished) this.allocate(pod, run, node);
    return simulated;
  }

  /** Admits a pod to its node, or fails it. */
  private admit(run: PodRun, pod: Pod, host: PodHost): void {
    const refusal = this.admissionFailure(pod, run, host);
    run.isAdmitted = true;
    run.allocation = newAllocation(pod);
    if (refusal === undefined) return this.allocate(pod, run, host.name);
    this.record(pod, "Warning", refusal);
    run.failure = { ...refusal, message: `Pod was rejected: ${refusal.message}` };
    run.isRefused = true;
    run.isFinished = true;
  }

  /** Reason why a node rejects a pod; undefined = admitted, for a critical pod also by preemption. */
  private admissionFailure(pod: Pod, { uid }: PodRun, host: PodHost): PodFailure | undefined {
    const { name, object: node, client } = host;
    if (node === undefined) return undefined;
    const { refusal, preempted } = admit(pod, {
      uid,
      node,
      allocation: this.allocations.of(name),
      others: () => this.activeOn(name),
      domain: client.domain,
    });
    for (const victim of preempted) {
      this.end(victim, { reason: "Preempting", message: preemptionMessage });
      this.allocations.delete(name, this.options.staticPods.uidOf(victim));
    }
    return refusal;
  }

  private allocate(pod: Pod, { uid, allocation }: PodRun, node: string): void {
    this.allocations.set(node, uid, allocatedPod(pod, allocation));
  }

  /** Whether a pod has been admitted and is not terminal. */
  isActive(pod: Pod): boolean {
    const run = this.simulated.get(objectKey(pod))?.run;
    if (run?.uid !== this.options.staticPods.uidOf(pod)) return false;
    return run.isAdmitted && !run.isFinished && run.failure === undefined;
  }

  /** Reserves the addresses of a starting pod; if exhausted, records an Event and the pod does not start. */
  private reserveAddresses(
    run: PodRun,
    pod: Pod,
    { hostIps, addresses }: PodHost,
  ): readonly string[] | undefined {
    if (pod.spec?.hostNetwork === true) return (run.ips = hostIps);
    const taken = addresses?.take(pod.metadata.uid);
    if (taken !== undefined || run.isSandboxReady) return taken;
    const what =
      addresses === undefined
        ? { reason: "NetworkNotReady", message: networkMessage }
        : { reason: "FailedCreatePodSandBox", message: exhaustedMessage(addresses.cidrs) };
    this.record(pod, "Warning", what);
    return undefined;
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
      // The pod was deleted or replaced: the informer will show it.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Completes the deletion of a terminated pod (grace period 0). */
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

/** Whether the pod's graceful deletion waits for its node; with grace period 0 only finalizers block it. */
function isTerminating({ metadata }: Pod): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return deletionTimestamp !== undefined && Number(deletionGracePeriodSeconds ?? 0) > 0;
}

function newerOf(seen: Pod, written: Pod | undefined): Pod {
  if (written === undefined || written.metadata.uid !== seen.metadata.uid) return seen;
  const versions = [seen, written].map(({ metadata }) => BigInt(metadata.resourceVersion));
  return versions[0]! >= versions[1]! ? seen : written;
}
