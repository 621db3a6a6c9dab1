/** Delays of a kubelet between attempts to start a container. */
import type { Container, Pod } from "#kinds";
import { formatDuration } from "#meta";
import {
  type TellContainer,
  tellFailedPull,
  tellPullBackOff,
  tellRestartBackOff,
} from "../events/container-events.ts";
import { type ContainerRun, restart } from "./container-run.ts";

/** A kubelet's first delay and its longest: MaxContainerBackOff. */
const firstMs = 10_000;
const longestMs = 300_000;
/** Time for which a container must have run to start without delay after a crash. */
const forgottenMs = 2 * longestMs;
/** Time until the kubelet notices that a container ended or a pull failed. */
const noticeMs = 1_000;

const nextDelay = (ms: number) => Math.min(longestMs, ms === 0 ? firstMs : ms * 2);

/**
 * Lets a terminated container wait for its restart: not at all after the first crash, then for 10 s, doubling
 * up to 5 min.
 * @returns time in ms of the restart; undefined = it is due
 */
export function backOff(
  state: ContainerRun,
  container: Container,
  { pod, now, tell }: { readonly pod: Pod; readonly now: number; readonly tell: TellContainer },
): number | undefined {
  const noticedAt = state.finishedAt + noticeMs;
  if (now < noticedAt) return noticedAt;
  if (state.finishedAt - state.backoffSetAt > forgottenMs) state.backoffMs = 0;
  const endsAt = state.finishedAt + state.backoffMs;
  if (now < endsAt) {
    const { namespace = "", name: podName, uid } = pod.metadata;
    const delay = durationText(state.backoffMs);
    const shown = `${podName}_${namespace}(${uid})`;
    if (state.waitingReason === undefined) tellRestartBackOff(tell, container, shown);
    state.waitingReason = {
      reason: "CrashLoopBackOff",
      message: `back-off ${delay} restarting failed container=${container.name} pod=${shown}`,
    };
    return endsAt;
  }
  return undefined;
}

/** Starts a terminated container again, which waits longer for its next restart. */
export function restartAfterCrash(state: ContainerRun, now: number): void {
  state.backoffMs = nextDelay(state.backoffMs);
  state.backoffSetAt = now;
  restart(state, now);
}

/** Fails to pull the image of a container, again and again. Returns the time of the next change. */
export function failPull(
  state: ContainerRun,
  container: Container,
  {
    error,
    now,
    tell,
  }: { readonly error: string; readonly now: number; readonly tell: TellContainer },
): number {
  const { image = "" } = container;
  const message = error === "true" ? `failed to pull image "${image}": not found` : error;
  const delayMs = Math.min(longestMs, firstMs * 2 ** Math.min(state.failedPulls - 1, 10));
  if (state.failedPulls === 0 || now >= state.pulledAt + delayMs) {
    state.failedPulls += 1;
    state.pulledAt = now;
    tellFailedPull(tell, container, message);
  }
  const deniedUntil = state.pulledAt + noticeMs;
  if (now < deniedUntil) {
    state.waitingReason = { reason: "ErrImagePull", message };
    return deniedUntil;
  }
  if (state.waitingReason?.reason !== "ImagePullBackOff") tellPullBackOff(tell, container);
  state.waitingReason = {
    reason: "ImagePullBackOff",
    message: `Back-off pulling image "${image}": ErrImagePull: ${message}`,
  };
  return state.pulledAt + Math.min(longestMs, firstMs * 2 ** Math.min(state.failedPulls - 1, 10));
}

function durationText(ms: number): string {
  return formatDuration(BigInt(ms) * 1_000_000n);
}
