/** The kubelet's backoff of container starts and image pulls. */
import type { Container, Pod } from "#kinds";
import { formatDuration } from "#meta";
import {
  type RecordContainerEvent,
  recordFailedPull,
  recordPullBackOff,
  recordRestartBackOff,
} from "../events/container-events.ts";
import { type ContainerRun, restart } from "./container-run.ts";

/** The kubelet's initial and maximum backoff (MaxContainerBackOff). */
export const firstBackoffMs = 10_000;
const maxMs = 300_000;
/** Run time after which a crash resets the backoff. */
const resetMs = 2 * maxMs;
/** Delay until the kubelet observes that a container exited or a pull failed (PLEG relist period). */
const relistMs = 1_000;

const nextDelay = (ms: number) => Math.min(maxMs, ms === 0 ? firstBackoffMs : ms * 2);

/**
 * Backoff of a terminated container: none after the first crash, then 10 s, doubling up to 5 min.
 * @returns time in ms of the restart; undefined = restart now
 */
export function backOff(
  state: ContainerRun,
  container: Container,
  {
    pod,
    now,
    record,
  }: { readonly pod: Pod; readonly now: number; readonly record: RecordContainerEvent },
): number | undefined {
  const noticedAt = state.finishedAt + relistMs;
  if (now < noticedAt) return noticedAt;
  if (state.finishedAt - state.backoffSetAt > resetMs) state.backoffMs = 0;
  const endsAt = state.finishedAt + state.backoffMs;
  if (now < endsAt) {
    const { namespace = "", name: podName, uid } = pod.metadata;
    const delay = durationText(state.backoffMs);
    const shown = `${podName}_${namespace}(${uid})`;
    if (state.waitingReason === undefined) recordRestartBackOff(record, container, shown);
    state.waitingReason = {
      reason: "CrashLoopBackOff",
      message: `back-off ${delay} restarting failed container=${container.name} pod=${shown}`,
    };
    return endsAt;
  }
  return undefined;
}

/** Restarts a terminated container and increases its backoff. */
export function restartAfterCrash(state: ContainerRun, now: number): void {
  state.backoffMs = nextDelay(state.backoffMs);
  state.backoffSetAt = now;
  restart(state, now);
}

/** Simulates failing image pulls with backoff. Returns the time in ms of the next change. */
export function failPull(
  state: ContainerRun,
  container: Container,
  {
    error,
    now,
    record,
  }: { readonly error: string; readonly now: number; readonly record: RecordContainerEvent },
): number {
  const { image = "" } = container;
  const message = error === "true" ? `failed to pull image "${image}": not found` : error;
  const delayMs = Math.min(maxMs, firstBackoffMs * 2 ** Math.min(state.failedPulls - 1, 10));
  if (state.failedPulls === 0 || now >= state.pulledAt + delayMs) {
    state.failedPulls += 1;
    state.pulledAt = now;
    recordFailedPull(record, container, message);
  }
  const deniedUntil = state.pulledAt + relistMs;
  if (now < deniedUntil) {
    state.waitingReason = { reason: "ErrImagePull", message };
    return deniedUntil;
  }
  if (state.waitingReason?.reason !== "ImagePullBackOff") recordPullBackOff(record, container);
  state.waitingReason = {
    reason: "ImagePullBackOff",
    message: `Back-off pulling image "${image}": ErrImagePull: ${message}`,
  };
  return (
    state.pulledAt + Math.min(maxMs, firstBackoffMs * 2 ** Math.min(state.failedPulls - 1, 10))
  );
}

function durationText(ms: number): string {
  return formatDuration(BigInt(ms) * 1_000_000n);
}
