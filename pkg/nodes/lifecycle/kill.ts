import type { Container } from "#kinds";
import type { PodSettings } from "../annotations.ts";
import { recordStop } from "../events/container-events.ts";
import type { ContainerRun } from "../pod/container-run.ts";
import { type HookStep, preStopMsOf } from "./hooks.ts";

/** Exit code of a container that was killed by SIGKILL. */
export const killedCode = 137;
/** Exit code of a container that SIGTERM has ended. */
export const terminatedCode = 143;
export const defaultGraceSeconds = 30;

export interface Kill extends HookStep {
  readonly podSettings: PodSettings;
  /** Wall clock in ms. */
  readonly now: number;
  /** Message of the Event. */
  readonly why: string;
  /** Grace period; absent = that of the pod. */
  readonly graceSeconds?: number | bigint | undefined;
}

/** Kills one container of a pod that goes on: after its preStop hook, or at the end of the grace period. */
export function kill(run: ContainerRun, container: Container, step: Kill): void {
  const { pod, podSettings, now, record, why, graceSeconds } = step;
  recordStop(record, container, why);
  const stopMs = preStopMsOf(run, container, step) + (podSettings.stopAfterMs ?? 0);
  const seconds = graceSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  const graceMs = Number(seconds) * 1000;
  const code = stopMs <= graceMs ? terminatedCode : killedCode;
  run.killed = { afterMs: now - run.startedAt + Math.min(stopMs, graceMs), code };
}
