import { printJson } from "#base";
import type { Clock } from "#base";
import { objectKey } from "#client";
import { type Container, type Pod, type PodCondition, priorityOf } from "#kinds";
import { plus, podTotal } from "#quota";
import { Quantity } from "#meta";
import { isStaticPod } from "../admission/critical-pods.ts";
import { infeasibleResize } from "../admission/node-admission.ts";
import { podSettingsOf } from "../annotations.ts";
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
  type RecordContainerEvent,
  recordStart,
  recordStop,
} from "../events/container-events.ts";
import { type PodFailure, stopCodeOf } from "../lifecycle/container-ends.ts";
import { type ContainerRun, restart, terminate } from "./container-run.ts";
import type { PodRun } from "./pod-run.ts";
import type { PodHost } from "./pod-host.ts";

export interface PodResizesOptions {
  readonly clock: Clock;
  readonly events: KubeletEvents;
  readonly hostOf: (node: string) => PodHost | undefined;
  /** A pod of the process and its run, by its key. */
  readonly podOf: (key: string) => { readonly pod: Pod; readonly run: PodRun } | undefined;
  /** Reason why a node cannot allocate the pod's requested resources; undefined = it can. */
  readonly admit: (pod: Pod, run: PodRun, host: PodHost) => PodFailure | undefined;
  /** Called when the allocated resources of a pod have changed. */
  readonly onAllocated: (pod: Pod, run: PodRun, node: string) => void;
  /** Enqueues a pod. */
  readonly wake: (key: string) => void;
}

/** Maximum interval of retries of a deferred resize. */
export const resizeRetryMs = 180_000;

/** In-place resizes of pods: their node accepts, defers or rejects them, and actuates accepted ones. */
export class PodResizes {
  /** Keys of pods with a deferred resize, by node. */
  private readonly deferred = new Map<string, Set<string>>();

  constructor(private readonly options: PodResizesOptions) {}

  /** Evaluates and actuates the resize of a pod. Returns the pod with its allocated resources. */
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

  /** Retries the deferred resizes of a node, e.g. after another pod has terminated. */
  retry(node: string): void {
    const { podOf, hostOf, wake } = this.options;
    const keys = this.deferred.get(node);
    const object = hostOf(node)?.object;
    if (keys === undefined || object === undefined) return;
    const known = [...keys].flatMap((key) => podOf(key) ?? []);
    keys.clear();
    for (const { pod, run } of known.sort(byRetryOrder)) {
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

  /** Drops a deleted pod and retries the deferred resizes of its node. */
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
    const verdict = this.resizeObstacle(pod, run, node);
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

  /** Reason why a resize is infeasible or deferred; undefined = acceptable. */
  private resizeObstacle(pod: Pod, run: PodRun, name: string): Verdict | undefined {
    const host = this.options.hostOf(name);
    if (host?.object === undefined) return undefined;
    if (isStaticPod(pod, host.client.domain)) {
      return { reason: "Infeasible", message: "In-place resize of static-pods is not supported" };
    }
    const excess = infeasibleResize(pod, host.object);
    if (excess !== undefined) return { reason: "Infeasible", message: excess };
    const refusal = this.options.admit(pod, run, host);
    return refusal && { reason: "Deferred", message: refusal.message };
  }

  /** Actuates an accepted resize once condition PodResizeInProgress is stored. */
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
    const record: RecordContainerEvent = (each, event) =>
      events.recordPod(pod, event, fieldPathOf(pod, each));
    recordStop(record, container, `Container ${container.name} resize requires restart`);
    terminate(state, { at: now, code: stopCodeOf(pod, podSettingsOf(pod)) });
    restart(state, now);
    recordStart(record, container);
  }
}

interface Verdict {
  readonly reason: "Deferred" | "Infeasible";
  readonly message: string;
}

/** A condition of a resize; keeps its times if unchanged. */
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

/** Order of retries: resizes without increases first, then by priority, QoS class and age. */
function byRetryOrder(left: Judged, right: Judged): number {
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

/** Of cpu and memory, those whose allocated and actuated amounts differ. */
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

/** Message of the Event ResizeCompleted: containers with their resources, as printed by Go's JSON encoder. */
function completionMessage({ spec }: Pod): string {
  const list = (containers: readonly Container[] = []) =>
    containers.length === 0
      ? undefined
      : containers.map(({ name, resources = {} }) => ({ name, resources: inOrder(resources) }));
  const { initContainers, containers } = spec ?? {};
  const summary = { initContainers: list(initContainers), containers: list(containers) };
  return `Pod resize completed: ${printJson(summary)}`;
}

function inOrder({ limits, requests, claims }: NonNullable<Container["resources"]>): object {
  const sorted = (amounts: Readonly<Record<string, string>> | undefined) =>
    amounts && Object.fromEntries(Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { limits: sorted(limits), requests: sorted(requests), claims };
}
