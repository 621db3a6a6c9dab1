import { type Container, containersOf, isSidecar, type Pod } from "#kinds";
import { withAddresses } from "./addresses.ts";
import type { PodAllocation } from "./allocation.ts";
import { backOff, failPull, restartAfterCrash } from "./backoffs.ts";
import { isMissingImage } from "../missing-images.ts";
import {
  type RecordContainerEvent,
  recordFailedCreation,
  recordStop,
} from "../events/container-events.ts";
import {
  type ContainerStep,
  exitOf,
  isRestarted,
  readyAtOf,
  restartPolicyOf,
  type StoppablePod,
  stopContainers,
} from "../lifecycle/container-ends.ts";
import { type ContainerRun, newContainer, start, terminate } from "./container-run.ts";
import { kill } from "../lifecycle/kill.ts";
import { callProbes } from "../probes/container-probes.ts";
import { hasStartedUp, type ProbeKind } from "../probes/probe-states.ts";
import type { Prober } from "../probes/prober.ts";
import { beginRun } from "./begin-run.ts";
import type { ContainerCommands } from "../environment/container-commands.ts";

/** Runtime state of a pod. */
export interface PodRun extends StoppablePod {
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
}

export interface Advance extends ContainerStep {
  readonly commands: Pick<ContainerCommands, "prepare" | "exitOf" | "keepFiles" | "notSimulatedOf">;
  readonly prober: Prober;
  /** Whether volumes, devices and addresses are available. */
  readonly mayStart: boolean;
  /** Addresses for its sandbox; undefined = none available. */
  readonly podIps: readonly string[] | undefined;
  /** Addresses of its node. */
  readonly hostIps: readonly string[];
  /** Records container Events. */
  readonly record: RecordContainerEvent;
}

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
    const state = run.containers.get(container.name);
    if (state?.state === "running") recordStop(record, container);
    // A pod that ends restarts no container: the last end is final.
    if (state?.state === "terminated") state.waitingReason = undefined;
  }
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
  const { pod, podSettings, commands, now, isInit, record } = step;
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
      const readyAt = readyAtOf(container, state, step);
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
