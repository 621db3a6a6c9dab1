import type { ContainerStateTerminated, ContainerStatus, Pod, PodStatus } from "#kinds";
import { parseSeconds } from "#meta";
import { type ContainerEnd, type ContainerRun, newContainer } from "./container-run.ts";
import { restoreAllocation } from "./allocation.ts";
import { newPodRun, type PodRun } from "./pod-run.ts";

/**
 * The run of a pod that an earlier process simulated, or of a new one: a node that restarts finds
 * its containers as the pod's status tells.
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

/** Addresses of a pod; undefined = it has none yet. */
export function podIpsOf({ podIP, podIPs }: PodStatus): readonly string[] | undefined {
  return podIPs?.map(({ ip }) => ip) ?? (podIP === undefined ? undefined : [podIP]);
}

/** Undefined for a container that has not run yet. */
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

/** Back-off delays are not stored: they follow from the number of restarts. */
function restoreBackoff(container: ContainerRun): void {
  if (container.restarts === 0) return;
  container.backoffMs = Math.min(300_000, 10_000 * 2 ** Math.min(container.restarts - 1, 10));
  container.backoffSetAt = container.startedAt;
}

function endOf(ended: ContainerStateTerminated): ContainerEnd {
  const { exitCode, startedAt, finishedAt, message } = ended;
  const times = { startedAt: timeOf(startedAt) ?? 0, finishedAt: timeOf(finishedAt) ?? 0 };
  return { exitCode, ...times, message };
}

/** Milliseconds since 1970; undefined for a time that is absent or invalid. */
function timeOf(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    return parseSeconds(text).seconds * 1000;
  } catch {
    return undefined;
  }
}
