import {
  type ContainerStateTerminated,
  type ContainerStatus,
  containersOf,
  type Pod,
  type PodStatus,
} from "#kinds";
import { parseSeconds } from "#meta";
import { type ContainerEnd, type ContainerRun, newContainer } from "./container-run.ts";
import { restoreAllocation } from "./allocation.ts";
import { restoredProbeStates } from "../probes/probe-states.ts";
import { newPodRun, type PodRun } from "./pod-run.ts";

/**
 * Restores the state of a pod from its status, like a restarting kubelet; a new pod has not run yet.
 */
export function restorePodRun(pod: Pod, now: number): PodRun {
  const { metadata, status = {} } = pod;
  const admittedAt = timeOf(status.startTime) ?? now;
  const run = newPodRun(metadata.uid, admittedAt);
  const { containerStatuses = [], initContainerStatuses = [] } = status;
  const { ephemeralContainerStatuses = [] } = status;
  const statuses = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  for (const each of statuses) {
    const container = restoreContainer(each);
    const declared = containersOf(pod).find(({ name }) => name === each.name);
    if (container?.state === "running" && declared !== undefined) {
      container.probes = restoredProbeStates(declared, each, container.startedAt);
    }
    if (container !== undefined) run.containers.set(each.name, container);
  }
  run.ips = podIpsOf(status);
  run.isAdmitted = status.startTime !== undefined;
  if (run.isAdmitted) run.allocation = restoreAllocation(pod);
  const isOver = status.phase === "Failed" || status.phase === "Succeeded";
  run.isFinished = isOver && [...run.containers.values()].every(({ state }) => state !== "running");
  run.isRefused = isOver && statuses.length === 0;
  run.isSandboxReady = run.containers.size > 0 && !run.isFinished;
  return run;
}

/** Addresses of a pod; undefined = none yet. */
export function podIpsOf({ podIP, podIPs }: PodStatus): readonly string[] | undefined {
  return podIPs?.map(({ ip }) => ip) ?? (podIP === undefined ? undefined : [podIP]);
}

/** State of a container; undefined = never started. */
function restoreContainer(status: ContainerStatus): ContainerRun | undefined {
  const { state = {}, lastState = {}, restartCount = 0 } = status;
  const container = newContainer();
  container.restarts = restartCount;
  const last = lastState.terminated === undefined ? undefined : endOf(lastState.terminated);
  const end = state.terminated === undefined ? last : endOf(state.terminated);
  if (state.running !== undefined) {
    container.state = "running";
    container.startedAt = timeOf(state.running.startedAt) ?? 0;
    container.last = last;
  } else if (end !== undefined) {
    container.state = "terminated";
    Object.assign(container, end);
    container.last = state.terminated === undefined ? undefined : last;
  } else {
    return undefined;
  }
  if (restartCount > 0 || state.running !== undefined) container.scratch = undefined;
  if (restartCount > 0 || state.terminated !== undefined) container.left = undefined;
  restoreBackoff(container);
  return container;
}

/** Derives the backoff from the number of restarts, since the status lacks it. */
function restoreBackoff(container: ContainerRun): void {
  if (container.restarts === 0) return;
  container.backoffMs = Math.min(300_000, 10_000 * 2 ** Math.min(container.restarts - 1, 10));
  container.backoffSetAt = container.startedAt;
}

function endOf(ended: ContainerStateTerminated): ContainerEnd {
  const { exitCode, startedAt, finishedAt, message, reason } = ended;
  const times = { startedAt: timeOf(startedAt) ?? 0, finishedAt: timeOf(finishedAt) ?? 0 };
  return { exitCode, ...times, message, reason };
}

/** Parses a time to milliseconds since 1970; undefined = absent or invalid. */
function timeOf(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    return parseSeconds(text).seconds * 1000;
  } catch {
    return undefined;
  }
}
