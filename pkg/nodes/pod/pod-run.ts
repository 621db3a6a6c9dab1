import { type Container, containersOf, isSidecar, type Pod } from "#kinds";
import { withAddresses } from "./addresses.ts";
import type { PodAllocation } from "./allocation.ts";
import type { ContainerExit, PodSettings } from "../annotations.ts";
import { backOff, failPull, restartAfterCrash } from "./backoffs.ts";
import { isMissingImage } from "../missing-images.ts";
import {
  type RecordContainerEvent,
  recordFailedCreation,
  recordStop,
} from "../events/container-events.ts";
import {
  type CommandExit,
  type ContainerRun,
  newContainer,
  start,
  terminate,
} from "./container-run.ts";
import { preStopMsOf } from "../lifecycle/hooks.ts";
import { defaultGraceSeconds, kill, killedCode } from "../lifecycle/kill.ts";
import { callProbes } from "../probes/container-probes.ts";
import { hasStartedUp, type ProbeKind } from "../probes/probe-states.ts";
import type { Prober } from "../probes/prober.ts";
import { beginRun } from "./begin-run.ts";
import type { ContainerCommands } from "../environment/container-commands.ts";

/** Runtime state of a pod. */
export interface PodRun {
  readonly uid: string;
  /** Wall clock in ms at which the node accepted the pod. */
  readonly admittedAt: number;
  /** Whether the node has decided on the admission of the pod. */
  isAdmitted: boolean;
  /** Whether the node has rejected the pod: no container ever ran. */
  isRefused: boolean;
  /** Allocated resources; undefined = not admitted. */
  allocation: PodAllocation | undefined;
  /** Addresses of the sandbox; undefined = none yet. */
  ips: readonly string[] | undefined;
  /** Whether the sandbox is ready. */
  isSandboxReady: boolean;
  readonly containers: Map<string, ContainerRun>;
  /** Time in ms at which the kubelet started to terminate the pod; undefined = it has not. */
  stoppingSince: number | undefined;
  /** Reason for which the node itself terminated the pod. */
  failure: PodFailure | undefined;
  /** Whether all containers have terminated for good. */
  isFinished: boolean;
}

export interface PodFailure {
  readonly reason: string;
  readonly message: string;
}

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

export interface Advance {
  readonly pod: Pod;
  readonly podSettings: PodSettings;
  readonly delays: PodDelays;
  readonly commands: Pick<ContainerCommands, "prepare" | "exitOf" | "keepFiles" | "notSimulatedOf">;
  readonly prober: Prober;
  /** Whether volumes, devices and addresses are available. */
  readonly mayStart: boolean;
  /** Addresses for its sandbox; undefined = none available. */
  readonly podIps: readonly string[] | undefined;
  /** Addresses of its node. */
  readonly hostIps: readonly string[];
  /** Wall clock in ms. */
  readonly now: number;
  /** Records container Events. */
  readonly record: RecordContainerEvent;
}

/** Grace period of pods evicted at a hard eviction threshold. */
const evictionGraceMs = 1_000;

export function newPodRun(uid: string, admittedAt: number): PodRun {
  return {
    uid,
    admittedAt,
    isAdmitted: false,
    isRefused: false,
    allocation: undefined,
    ips: undefined,
    isSandboxReady: false,
    containers: new Map(),
    stoppingSince: undefined,
    failure: undefined,
    isFinished: false,
  };
}

/**
 * Advances a pod to the current time.
 * @returns time in ms of the next step; Infinity = none without another event
 */
export function advance(run: PodRun, step: Advance): number {
  if (run.isFinished) return Infinity;
  const endsAt = stopIfDue(run, step);
  if (run.stoppingSince !== undefined) return stopContainers(run, step);
  const { podSettings, delays, now } = step;
  if (podSettings.neverStarts || !step.mayStart) return endsAt;
  const startsAt = run.admittedAt + (podSettings.startAfterMs ?? delays.startMs);
  if (now < startsAt) return Math.min(startsAt, endsAt);
  run.isSandboxReady = true;
  run.ips ??= step.podIps;
  const pod = withAddresses(step.pod, { podIps: run.ips, hostIps: step.hostIps });
  return Math.min(runContainers(run, { ...step, pod }), endsAt);
}

/** Time in ms at which a running container becomes ready; Infinity = never. */
export function readyAtOf(
  { startedAt }: ContainerRun,
  { podSettings, delays }: Pick<Advance, "podSettings" | "delays">,
): number {
  return startedAt + (podSettings.readyAfterMs ?? delays.readyMs);
}

/** Starts to terminate a pod that is deleted, finished or past its active deadline; returns the deadline. */
function stopIfDue(run: PodRun, step: Advance): number {
  const { pod, now } = step;
  const { activeDeadlineSeconds } = pod.spec ?? {};
  const phase = pod.status?.phase;
  const isOver = phase === "Failed" || phase === "Succeeded";
  const endsAt =
    activeDeadlineSeconds === undefined
      ? Infinity
      : run.admittedAt + Number(activeDeadlineSeconds) * 1000;
  if (now >= endsAt && run.stoppingSince === undefined) {
    run.failure ??= {
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    };
  }
  if (pod.metadata.deletionTimestamp !== undefined || isOver || run.failure !== undefined) {
    beginStop(run, step);
  }
  return endsAt;
}

/** Starts termination once: sends SIGTERM to the running containers. */
export function beginStop(
  run: PodRun,
  { pod, now, record }: Pick<Advance, "pod" | "now" | "record">,
): void {
  if (run.stoppingSince !== undefined) return;
  run.stoppingSince = now;
  for (const container of containersOf(pod)) {
    if (run.containers.get(container.name)?.state === "running") recordStop(record, container);
  }
}

/** Grace period in ms of the pod's containers. */
function graceMsOf({ metadata, spec }: Pod): number {
  const { deletionGracePeriodSeconds } = metadata;
  const seconds = deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds;
  return Number(seconds ?? defaultGraceSeconds) * 1000;
}

/** Terminates containers after their preStop hook and SIGTERM, or at the end of the grace period. */
function stopContainers(run: PodRun, step: Advance): number {
  const { pod, podSettings, commands, now } = step;
  const since = run.stoppingSince ?? now;
  const graceMs = graceMsOf(pod);
  const isEvicted = run.failure?.reason === "Evicted";
  const killedAt = since + (isEvicted ? Math.min(graceMs, evictionGraceMs) : graceMs);
  let next = Infinity;
  for (const container of containersOf(pod)) {
    const state = run.containers.get(container.name);
    if (state?.state !== "running") continue;
    const exitsAt = since + preStopMsOf(state, container, step) + (podSettings.stopAfterMs ?? 0);
    if (now >= Math.min(exitsAt, killedAt)) {
      terminate(state, { at: now, code: exitsAt <= killedAt ? 0 : killedCode });
      state.left = commands.keepFiles({ pod, container, run: state }, now);
    } else {
      next = Math.min(next, exitsAt, killedAt);
    }
  }
  if (next === Infinity) {
    run.isFinished = true;
    run.isSandboxReady = false;
  }
  return next;
}

/** Runs init containers sequentially, then the others. */
function runContainers(run: PodRun, step: Advance): number {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = step.pod.spec ?? {};
  const isInitialized = containers.some(({ name }) => run.containers.has(name));
  let next = Infinity;
  for (const container of initContainers) {
    const state = containerRun(run, container);
    if (isInitialized && !isSidecar(container)) continue;
    next = Math.min(next, runContainer(state, container, { ...step, isInit: true }));
    if (isInitialized || isDone(container, state)) continue;
    const { restartPolicy } = step.pod.spec ?? {};
    if (state.state !== "terminated" || restartPolicy !== "Never") return next;
    beginStop(run, step);
    return stopContainers(run, step);
  }
  for (const container of [...containers, ...ephemeralContainers]) {
    const state = containerRun(run, container);
    next = Math.min(next, runContainer(state, container, { ...step, isInit: false }));
  }
  if (!containers.every((each) => isOver(containerRun(run, each), each, step.pod))) return next;
  beginStop(run, step);
  return stopContainers(run, step);
}

function containerRun(run: PodRun, { name }: Container): ContainerRun {
  const known = run.containers.get(name);
  if (known !== undefined) return known;
  const state = newContainer();
  run.containers.set(name, state);
  return state;
}

/** Whether an init container lets the next containers start. */
function isDone(container: Container, run: ContainerRun): boolean {
  if (!isSidecar(container)) return run.state === "terminated" && run.exitCode === 0;
  return run.state === "running" && hasStartedUp(container, run);
}

function isOver({ state, exitCode }: ContainerRun, container: Container, pod: Pod): boolean {
  return state === "terminated" && !isRestarted(exitCode, restartPolicyOf(container, pod, false));
}

interface ContainerAdvance extends Advance {
  readonly isInit: boolean;
}

/** Starts, exits and restarts one container. Returns the time in ms of its next step. */
function runContainer(state: ContainerRun, container: Container, step: ContainerAdvance): number {
  const { pod, podSettings, delays, commands, now, isInit, record } = step;
  if (state.state === "waiting") {
    const isMissing = isMissingImage(container.image ?? "");
    const error = podSettings.imagePullError ?? (isMissing ? "true" : undefined);
    if (error !== undefined) return failPull(state, container, { error, now, record });
    const prepared = commands.prepare(pod, container, state.left);
    if ("fault" in prepared) return failCreation(state, container, { ...prepared, record });
    start(state, now);
    Object.assign(state, prepared);
    beginRun(state, container, step);
  }
  const policy = restartPolicyOf(container, pod, isInit);
  for (;;) {
    if (state.state === "running") {
      const exit = exitOf(container, state, step);
      const exitsAt = state.startedAt + (exit?.afterMs ?? Infinity);
      const readyAt = readyAtOf(state, { podSettings, delays });
      if (now < exitsAt) {
        const { next, failed } =
          state.killed === undefined ? callProbes(state, container, step) : noProbes;
        if (failed === undefined) {
          return Math.min(exitsAt, readyAt > now ? readyAt : Infinity, next);
        }
        const graceSeconds = container[`${failed}Probe`]?.terminationGracePeriodSeconds;
        const why = killMessage(container, { isInit, policy, failed });
        kill(state, container, { ...step, why, graceSeconds });
        continue;
      }
      const { code = 0, message } = exit ?? {};
      terminate(state, { at: exitsAt, code, message });
      state.left = commands.keepFiles({ pod, container, run: state }, exitsAt);
    }
    if (!isRestarted(state.exitCode, policy)) return Infinity;
    const next = backOff(state, container, { pod, now, record });
    if (next !== undefined) return next;
    const prepared = commands.prepare(pod, container, state.left);
    if ("fault" in prepared) return failCreation(state, container, { ...prepared, record });
    restartAfterCrash(state, now);
    Object.assign(state, prepared);
    beginRun(state, container, step);
  }
}

const noProbes = { next: Infinity, failed: undefined };

/** The kubelet's message on a container whose liveness or startup probe has failed. */
function killMessage(
  { name }: Container,
  { isInit, policy, failed }: { isInit: boolean; policy: string; failed: ProbeKind },
): string {
  if (isInit) return `Init container ${name} failed ${failed} probe`;
  const what = `Container ${name} failed ${failed} probe`;
  return policy === "Never" ? what : `${what}, will be restarted`;
}

/** Sets a container to CreateContainerConfigError; it waits for the objects that are missing. */
function failCreation(
  state: ContainerRun,
  container: Container,
  {
    fault: message,
    record,
  }: { readonly fault: string | undefined; readonly record: RecordContainerEvent },
): number {
  if (message === undefined || state.waitingReason?.message === message) return Infinity;
  state.waitingReason = { reason: "CreateContainerConfigError", message };
  recordFailedCreation(record, container, message);
  return Infinity;
}

function isRestarted(exitCode: number, policy: string): boolean {
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function restartPolicyOf(container: Container, { spec }: Pod, isInit: boolean): string {
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
function exitOf(
  container: Container,
  state: ContainerRun,
  { pod, podSettings, delays, commands, isInit }: ContainerAdvance,
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
