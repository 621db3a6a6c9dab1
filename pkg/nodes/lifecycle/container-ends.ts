/**
 * How containers end: by themselves, or stopped by their node in order, by SIGTERM and, after the grace
 * period, by SIGKILL.
 */
import { type Container, containersOf, isSidecar, type Pod } from "#kinds";
import type { ContainerExit, PodSettings } from "../annotations.ts";
import type { ContainerCommands } from "../environment/container-commands.ts";
import { type HookStep, preStopMsOf } from "./hooks.ts";
import { defaultGraceSeconds, killedCode, terminatedCode } from "./kill.ts";
import { firstBackoffMs } from "../pod/backoffs.ts";
import {
  type CommandExit,
  type ContainerEnd,
  type ContainerRun,
  terminate,
} from "../pod/container-run.ts";

/** Default delays in ms of pods without annotations. */
export interface PodDelays {
  /** From admission to the start of containers. */
  readonly startMs: number;
  /** From a container's start until it is ready. */
  readonly readyMs: number;
  /** Run time of each init container. */
  readonly initMs: number;
  /** Run time of the containers of a Job's pod. */
  readonly jobMs: number;
}

export interface PodFailure {
  readonly reason: string;
  readonly message: string;
}

/** What decides about the end of a pod's containers. */
export interface ContainerStep extends HookStep {
  readonly podSettings: PodSettings;
  readonly delays: PodDelays;
  readonly commands: Pick<ContainerCommands, "exitOf" | "keepFiles">;
  /** Wall clock in ms. */
  readonly now: number;
}

interface InitStep extends ContainerStep {
  readonly isInit: boolean;
}

/** The state of a pod whose containers its node may stop. */
export interface StoppablePod {
  readonly containers: Map<string, ContainerRun>;
  /** Whether the sandbox is ready. */
  isSandboxReady: boolean;
  /** Time in ms at which the kubelet started to terminate the pod; undefined = it has not. */
  stoppingSince: number | undefined;
  /** Reason for which the node itself terminated the pod. */
  failure: PodFailure | undefined;
  /** Whether all containers have terminated for good. */
  isFinished: boolean;
}

/**
 * Time in ms at which a running container becomes ready; Infinity = never. One that crashes sooner than its
 * backoff lasts never serves: a readiness probe would not succeed.
 */
export function readyAtOf(container: Container, state: ContainerRun, step: InitStep): number {
  const { pod, podSettings, delays, isInit } = step;
  const exit = state.killed === undefined ? exitOf(container, state, step) : undefined;
  const crashes =
    exit !== undefined &&
    exit.afterMs < firstBackoffMs &&
    isRestarted(exit.code, restartPolicyOf(container, pod, isInit));
  return crashes ? Infinity : state.startedAt + (podSettings.readyAfterMs ?? delays.readyMs);
}

export function isRestarted(exitCode: number, policy: string): boolean {
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

export function restartPolicyOf(container: Container, { spec }: Pod, isInit: boolean): string {
  const policy = spec?.restartPolicy ?? "Always";
  if (isInit) {
    if (isSidecar(container)) return "Always";
    return policy === "Never" ? "Never" : "OnFailure";
  }
  const isEphemeral = spec?.ephemeralContainers?.some(({ name }) => name === container.name);
  return isEphemeral === true ? "Never" : policy;
}

/**
 * Exit of a container that terminates by itself; undefined = never. Commands are evaluated for init
 * containers and for pods that may complete: a container with restartPolicy Always keeps running.
 */
export function exitOf(
  container: Container,
  state: ContainerRun,
  { pod, podSettings, delays, commands, isInit }: InitStep,
): (ContainerExit & Partial<CommandExit>) | undefined {
  if (state.killed !== undefined) return state.killed;
  const configured = podSettings.exitOf(container.name, isInit);
  if (configured !== undefined) return configured;
  if (isInit && isSidecar(container)) return undefined;
  const mayEnd = isInit || restartPolicyOf(container, pod, false) !== "Always";
  if (mayEnd) {
    if (state.commandExit === undefined) {
      const exit = commands.exitOf({ pod, container, run: state }) ?? null;
      if (exit === "pending") return undefined;
      state.commandExit = exit;
    }
    if (state.commandExit !== null) return state.commandExit;
  }
  if (isInit) return { afterMs: delays.initMs, code: 0 };
  const isEphemeral = pod.spec?.ephemeralContainers?.includes(container) === true;
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== "Job" || isEphemeral) return undefined;
  return { afterMs: delays.jobMs, code: 0 };
}

/** Grace period of pods evicted at a hard eviction threshold. */
const evictionGraceMs = 1_000;
/** The kubelet's minimum time between SIGTERM and SIGKILL. */
const minimumGraceMs = 2_000;

/** Stops the containers of a terminating pod. Returns the time in ms of the next step. */
export function stopContainers(run: StoppablePod, step: ContainerStep): number {
  let next = Infinity;
  for (const container of inStopOrder(step.pod)) {
    const state = run.containers.get(container.name);
    if (state?.state !== "running") continue;
    const { at, ...end } = endOf(run, container, step);
    if (step.now < at) {
      next = Math.min(next, at);
    } else {
      terminate(state, { ...end, at });
      const { pod, commands } = step;
      state.left = commands.keepFiles({ pod, container, run: state }, at);
    }
  }
  if (next === Infinity) {
    run.isFinished = true;
    run.isSandboxReady = false;
  }
  return next;
}

/** Exit code of a container that is stopped in order to restart it. */
export function stopCodeOf(pod: Pod, { stopAfterMs = 0 }: PodSettings): number {
  return stopAfterMs <= Math.max(graceMsOf(pod), minimumGraceMs) ? terminatedCode : killedCode;
}

type End = Pick<ContainerEnd, "message"> & { readonly at: number; readonly code: number };

/** The end of a running container: by itself, by SIGTERM or by SIGKILL, whichever comes first. */
function endOf(run: StoppablePod, container: Container, step: ContainerStep): End {
  const { pod, podSettings, now } = step;
  const state = run.containers.get(container.name)!;
  const since = run.stoppingSince ?? now;
  const graceMs = graceMsOf(pod, run);
  const preStopMs = preStopMsOf(state, container, step);
  const turnAt = Math.min(turnOf(run, container, pod), since + graceMs);
  const termAt = Math.max(since + Math.min(preStopMs, graceMs), turnAt);
  const exitsAt = termAt + (podSettings.stopAfterMs ?? 0);
  const killedAt = Math.max(since + graceMs, termAt + minimumGraceMs);
  const stop =
    exitsAt <= killedAt
      ? { at: exitsAt, code: terminatedCode }
      : { at: killedAt, code: killedCode };
  const isInit = pod.spec?.initContainers?.includes(container) === true;
  const own = exitOf(container, state, { ...step, isInit });
  const ownAt = state.startedAt + (own?.afterMs ?? Infinity);
  if (own === undefined || ownAt > stop.at) return stop;
  return { at: ownAt, code: own.code, message: own.message };
}

/** Sidecars after the others, in reverse order. */
function inStopOrder(pod: Pod): readonly Container[] {
  const all = containersOf(pod);
  return [...all.filter((each) => !isSidecar(each)), ...all.filter(isSidecar).toReversed()];
}

/** Time in ms from which a container may be stopped: a sidecar waits for containers and later sidecars. */
function turnOf(run: StoppablePod, container: Container, { spec }: Pod): number {
  if (!isSidecar(container)) return -Infinity;
  const { initContainers = [], containers = [] } = spec ?? {};
  const later = initContainers.slice(initContainers.indexOf(container) + 1).filter(isSidecar);
  const ends = [...containers, ...later].map(({ name }) => {
    const state: ContainerRun | undefined = run.containers.get(name);
    if (state?.state === "running") return Infinity;
    return state?.state === "terminated" ? state.finishedAt : -Infinity;
  });
  return Math.max(...ends);
}

/** Grace period in ms of the pod's containers. */
function graceMsOf({ metadata, spec }: Pod, { failure }: Partial<StoppablePod> = {}): number {
  const { deletionGracePeriodSeconds } = metadata;
  const seconds = deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds;
  const graceMs = Number(seconds ?? defaultGraceSeconds) * 1000;
  return failure?.reason === "Evicted" ? Math.min(graceMs, evictionGraceMs) : graceMs;
}
