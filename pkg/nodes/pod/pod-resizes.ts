import type { Clock } from "#base";
import { objectKey } from "#client";
import { type Container, type Pod, type PodCondition, priorityOf } from "#kinds";
import { plus, podTotal } from "#quota";
import { Quantity } from "#meta";
import { isStaticPod } from "../admission/critical-pods.ts";
import { excessOf } from "../admission/node-admission.ts";
import { timeText } from "../identifiers.ts";
import type { KubeletEvents } from "../events/kubelet-events.ts";
import {
  allocatedPod,
  areSame,
  type PodAllocation,
  requestedResources,
  resizableContainers,
} from "./allocation.ts";
import {
  fieldPathOf,
  type TellContainer,
  tellStart,
  tellStop,
} from "../events/container-events.ts";
import { type ContainerRun, restart, terminate } from "./container-run.ts";
import type { PodFailure, PodRun } from "./pod-run.ts";
import type { PodHost } from "./pod-host.ts";

export interface PodResizesOptions {
  readonly clock: Clock;
  readonly events: KubeletEvents;
  readonly hostOf: (node: string) => PodHost | undefined;
  /** A pod of the process and its run, by its key. */
  readonly podOf: (key: string) => { readonly pod: Pod; readonly run: PodRun } | undefined;
  /** Why a node has no room for a pod as it asks to be; undefined = it has. */
  readonly admit: (pod: Pod, run: PodRun, host: PodHost) => PodFailure | undefined;
  /** Called when a node has allocated other resources to a pod. */
  readonly onAllocated: (pod: Pod, run: PodRun, node: string) => void;
  /** Looks at a pod again. */
  readonly wake: (key: string) => void;
}

/** Time after which a deferred resize is tried again at the latest. */
export const resizeRetryMs = 180_000;

/** In-place resizes of pods, which their nodes accept, defer or refuse, and then carry out. */
export class PodResizes {
  /** Keys of pods with a deferred resize, by node. */
  private readonly deferred = new Map<string, Set<string>>();

  constructor(private readonly options: PodResizesOptions) {}

  /** Judges and carries out the resize of a pod. Returns the pod as it is allocated. */
  sync(pod: Pod, run: PodRun, host: PodHost): Pod {
    const { allocation } = run;
    if (allocation === undefined) return pod;
    if (run.isFinished || run.failure !== undefined) {
      this.end(pod, allocation, host.name);
      return allocatedPod(pod, allocation);
    }
    const isDeferred = allocation.pending?.reason === "Deferred";
    const requested = requestedResources(pod);
    const isNew = !areSame(requested, allocation.judged);
    if (isNew || isDeferred) {
      this.setOf(host.name).add(objectKey(pod));
      this.retry(host.name);
    }
    this.actuate(pod, run, allocation);
    return allocatedPod(pod, allocation);
  }

  /** Tries the deferred resizes of a node again, as after the end of another pod. */
  retry(node: string): void {
    const { podOf, hostOf, wake } = this.options;
    const keys = this.deferred.get(node);
    const object = hostOf(node)?.object;
    if (keys === undefined || object === undefined) return;
    const known = [...keys].flatMap((key) => podOf(key) ?? []);
    keys.clear();
    for (const { pod, run } of known.sort(bySequence)) {
      const { allocation } = run;
      if (allocation === undefined) continue;
      const before = [allocation.pending, allocation.inProgress];
      this.judge({ pod, run }, allocation, node);
      if (allocation.pending?.reason === "Deferred") keys.add(objectKey(pod));
      const after = [allocation.pending, allocation.inProgress];
      if (before.some((each, at) => each !== after[at])) wake(objectKey(pod));
    }
    if (keys.size === 0) this.deferred.delete(node);
  }

  /** Forgets the pod with this key, which is gone, and gives its room to others. */
  forget(key: string, node: string): void {
    this.deferred.get(node)?.delete(key);
    this.retry(node);
  }

  private end(pod: Pod, allocation: PodAllocation, node: string): void {
    allocation.pending = undefined;
    allocation.inProgress = undefined;
    this.deferred.get(node)?.delete(objectKey(pod));
  }

  private setOf(node: string): Set<string> {
    const known = this.deferred.get(node) ?? new Set();
    this.deferred.set(node, known);
    return known;
  }

  private judge({ pod, run }: Judged, allocation: PodAllocation, node: string): void {
    const requested = requestedResources(pod);
    const now = this.options.clock.now();
    allocation.judged = requested;
    if (areSame(requested, allocation.allocated)) {
      allocation.pending = undefined;
      return;
    }
    const verdict = this.obstacleTo(pod, run, node);
    if (verdict !== undefined) {
      allocation.pending = conditionOf(pod, "PodResizePending", {
        old: allocation.pending,
        now,
        verdict,
      });
      return;
    }
    allocation.actuated ??= allocation.allocated;
    allocation.allocated = requested;
    this.options.onAllocated(pod, run, node);
    allocation.pending = undefined;
    allocation.inProgress = conditionOf(pod, "PodResizeInProgress", { now });
  }

  /** Why a resize cannot be accepted, or not yet. */
  private obstacleTo(pod: Pod, run: PodRun, name: string): Verdict | undefined {
    const host = this.options.hostOf(name);
    if (host?.object === undefined) return undefined;
    if (isStaticPod(pod, host.client.domain)) {
      return { reason: "Infeasible", message: "In-place resize of static-pods is not supported" };
    }
    const excess = excessOf(pod, host.object);
    if (excess !== undefined) return { reason: "Infeasible", message: excess };
    const refusal = this.options.admit(pod, run, host);
    return refusal && { reason: "Deferred", message: refusal.message };
  }

  /** Carries out an accepted resize once the pod tells that it is in progress. */
  private actuate(pod: Pod, run: PodRun, allocation: PodAllocation): void {
    const { actuated = new Map(), inProgress } = allocation;
    if (inProgress === undefined) return;
    const changed = resizableContainers(allocatedPod(pod, allocation)).flatMap((container) => {
      const state = run.containers.get(container.name);
      const resources = changedResources(container, actuated.get(container.name));
      if (state?.state !== "running" || resources.length === 0) return [];
      return [{ container, state, resources }];
    });
    const isTold = pod.status?.conditions?.some(({ type }) => type === inProgress.type) === true;
    if (changed.length > 0 && !isTold) return;
    for (const { container, state, resources } of changed) {
      if (needsRestart(container, resources)) this.restart(pod, container, state);
    }
    allocation.actuated = undefined;
    allocation.inProgress = undefined;
    this.options.events.recordPod(pod, {
      type: "Normal",
      reason: "ResizeCompleted",
      message: completionMessage(allocatedPod(pod, allocation)),
    });
    this.retry(pod.spec?.nodeName ?? "");
  }

  private restart(pod: Pod, container: Container, state: ContainerRun): void {
    const { clock, events } = this.options;
    const now = clock.now();
    const tell: TellContainer = (each, event) =>
      events.recordPod(pod, event, fieldPathOf(pod, each));
    tellStop(tell, container, `Container ${container.name} resize requires restart`);
    terminate(state, { at: now, code: 0 });
    restart(state, now);
    tellStart(tell, container);
  }
}

interface Verdict {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
}

/** A condition of a resize; one that says the same as before keeps its times. */
function conditionOf(
  { metadata: { generation } }: Pod,
  type: string,
  {
    old,
    now,
    verdict,
  }: {
    readonly old?: PodCondition | undefined;
    readonly now: number;
    readonly verdict?: Verdict;
  },
): PodCondition {
  const isSame = old?.reason === verdict?.reason && old?.message === verdict?.message;
  if (old !== undefined && isSame && old.observedGeneration === generation) return old;
  const time = timeText(now);
  const isSameReason = old !== undefined && old.reason === verdict?.reason;
  return {
    type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    status: "True",
    ...verdict,
    lastProbeTime: time,
    lastTransitionTime: isSameReason ? (old.lastTransitionTime ?? time) : time,
  };
}

/** Resizes that ask for no more come first, then those of higher priority, QoS class and age. */
function bySequence(left: Judged, right: Judged): number {
  const isGuaranteed = ({ pod }: Judged) => pod.status?.qosClass === "Guaranteed";
  const age = ({ run }: Judged) => run.allocation?.pending?.lastTransitionTime ?? "~";
  return (
    Number(isIncrease(left)) - Number(isIncrease(right)) ||
    priorityOf(right.pod) - priorityOf(left.pod) ||
    Number(isGuaranteed(right)) - Number(isGuaranteed(left)) ||
    (age(left) < age(right) ? -1 : Number(age(left) > age(right)))
  );
}

interface Judged {
  readonly pod: Pod;
  readonly run: PodRun;
}

function isIncrease({ pod, run }: Judged): boolean {
  const requestsOf = ({ spec }: Pod) =>
    plus(podTotal(spec ?? {}, "requests"), spec?.overhead ?? {});
  const [before, after] = [requestsOf(allocatedPod(pod, run.allocation)), requestsOf(pod)];
  return ["cpu", "memory"].some(
    (name) => amountOf(after, name).compare(amountOf(before, name)) > 0,
  );
}

function amountOf(amounts: Readonly<Record<string, string>> | undefined, name: string): Quantity {
  return Quantity.parse(amounts?.[name] ?? "0");
}

/** Which of cpu and memory differ between the allocated resources of a container and those it has. */
function changedResources(
  { resources = {} }: Container,
  actuated: Container["resources"],
): readonly string[] {
  if (actuated === undefined) return [];
  return ["cpu", "memory"].filter((name) =>
    (["requests", "limits"] as const).some(
      (field) => amountOf(resources[field], name).compare(amountOf(actuated[field], name)) !== 0,
    ),
  );
}

function needsRestart({ resizePolicy = [] }: Container, changed: readonly string[]): boolean {
  return resizePolicy.some(
    ({ resourceName, restartPolicy }) =>
      changed.includes(resourceName) && restartPolicy === "RestartContainer",
  );
}

/** The message of the Event ResizeCompleted: all containers with their resources, as JSON of Go. */
function completionMessage({ spec }: Pod): string {
  const list = (containers: readonly Container[] = []) =>
    containers.length === 0
      ? undefined
      : containers.map(({ name, resources = {} }) => ({ name, resources: inOrder(resources) }));
  const { initContainers, containers } = spec ?? {};
  const summary = { initContainers: list(initContainers), containers: list(containers) };
  return `Pod resize completed: ${JSON.stringify(summary)}`;
}

function inOrder({ limits, requests, claims }: NonNullable<Container["resources"]>): object {
  const sorted = (amounts: Readonly<Record<string, string>> | undefined) =>
    amounts && Object.fromEntries(Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { limits: sorted(limits), requests: sorted(requests), claims };
}
