import { type Container, containersOf, isSidecar, type Pod } from "#kinds";
import { withAddresses } from "./addresses.ts";
import type { PodAllocation } from "./allocation.ts";
import type { ContainerExit, PodWishes } from "../annotations.ts";
import { backOff, failPull, restartAfterCrash } from "./backoffs.ts";
import { isMissingImage } from "../missing-images.ts";
import {
  type TellContainer,
  tellFailedCreation,
  tellStart,
  tellStop,
} from "../events/container-events.ts";
import {
  type CommandExit,
  type ContainerRun,
  newContainer,
  start,
  terminate,
} from "./container-run.ts";
import type { ContainerCommands } from "../environment/container-commands.ts";

/** What a container runtime would know of a pod. */
export interface PodRun {
  readonly uid: string;
  /** Wall clock in ms at which the node accepted the pod. */
  readonly admittedAt: number;
  /** The node has decided whether it takes the pod. */
  isAdmitted: boolean;
  /** The node has refused the pod: no container has ever run. */
  isRefused: boolean;
  /** What the node has allocated to the pod; undefined = it has not been admitted. */
  allocation: PodAllocation | undefined;
  /** Addresses of the sandbox; undefined = it has had none yet. */
  ips: readonly string[] | undefined;
  /** The sandbox is up, and containers may run. */
  isSandboxReady: boolean;
  readonly containers: Map<string, ContainerRun>;
  /** Time in ms at which the kubelet began to stop the pod; undefined = it runs. */
  stoppingSince: number | undefined;
  /** Why the node itself has ended the pod. */
  failure: PodFailure | undefined;
  /** No container runs or will run again. */
  isFinished: boolean;
}

export interface PodFailure {
  readonly reason: string;
  readonly message: string;
}

/** Delays in ms of pods whose annotations ask for no other. */
export interface PodDelays {
  /** From admission to the start of containers. */
  readonly startMs: number;
  /** From a container's start until it is ready. */
  readonly readyMs: number;
  /** How long each init container runs. */
  readonly initMs: number;
  /** How long the containers of a Job's pod run. */
  readonly jobMs: number;
}

export interface Advance {
  readonly pod: Pod;
  readonly wishes: PodWishes;
  readonly delays: PodDelays;
  readonly commands: Pick<ContainerCommands, "prepare" | "exitOf" | "keepFiles">;
  /** Whether the volumes, devices and addresses are there that the containers need to start. */
  readonly mayStart: boolean;
  /** Addresses that its sandbox gets; undefined = there are none. */
  readonly podIps: readonly string[] | undefined;
  /** Addresses of its node. */
  readonly hostIps: readonly string[];
  /** Wall clock in ms. */
  readonly now: number;
  /** Tells what happens to containers. */
  readonly tell: TellContainer;
}

/** Exit code of a container that was killed by SIGKILL. */
const killedCode = 137;
const defaultGraceSeconds = 30;
/** Time that the containers of an evicted pod have at a hard eviction threshold. */
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
 * Lets everything happen to a pod that is due by now.
 * @returns time in ms at which the next thing happens; Infinity = nothing will by itself
 */
export function advance(run: PodRun, step: Advance): number {
  if (run.isFinished) return Infinity;
  const endsAt = stopIfDue(run, step);
  if (run.stoppingSince !== undefined) return stopContainers(run, step);
  const { wishes, delays, now } = step;
  if (wishes.neverStarts || !step.mayStart) return endsAt;
  const startsAt = run.admittedAt + (wishes.startAfterMs ?? delays.startMs);
  if (now < startsAt) return Math.min(startsAt, endsAt);
  run.isSandboxReady = true;
  run.ips ??= step.podIps;
  const pod = withAddresses(step.pod, { podIps: run.ips, hostIps: step.hostIps });
  return Math.min(runContainers(run, { ...step, pod }), endsAt);
}

/** Time in ms at which a running container becomes ready; Infinity = never. */
export function readyAtOf(
  { startedAt }: ContainerRun,
  { wishes, delays }: Pick<Advance, "wishes" | "delays">,
): number {
  return startedAt + (wishes.readyAfterMs ?? delays.readyMs);
}

/** Begins to stop a pod that is deleted, is over or has exceeded its deadline, which it returns. */
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

/** Sends SIGTERM to the containers that run, once. */
export function beginStop(
  run: PodRun,
  { pod, now, tell }: Pick<Advance, "pod" | "now" | "tell">,
): void {
  if (run.stoppingSince !== undefined) return;
  run.stoppingSince = now;
  for (const container of containersOf(pod)) {
    if (run.containers.get(container.name)?.state === "running") tellStop(tell, container);
  }
}

/** Time in ms that the containers may take to exit. */
function graceMsOf({ metadata, spec }: Pod): number {
  const { deletionGracePeriodSeconds } = metadata;
  const seconds = deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds;
  return Number(seconds ?? defaultGraceSeconds) * 1000;
}

/** Stops containers after their preStop hook and SIGTERM, or at the end of the grace period. */
function stopContainers(run: PodRun, { pod, wishes, commands, now }: Advance): number {
  const since = run.stoppingSince ?? now;
  const graceMs = graceMsOf(pod);
  const isEvicted = run.failure?.reason === "Evicted";
  const killedAt = since + (isEvicted ? Math.min(graceMs, evictionGraceMs) : graceMs);
  let next = Infinity;
  for (const container of containersOf(pod)) {
    const { name, lifecycle } = container;
    const state = run.containers.get(name);
    if (state?.state !== "running") continue;
    const preStopMs = Number(lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000;
    const exitsAt = since + preStopMs + (wishes.stopAfterMs ?? 0);
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

/** Runs init containers one after another, then the others. */
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

/** Whether the containers after an init container may start. */
function isDone(container: Container, { state, exitCode }: ContainerRun): boolean {
  return isSidecar(container) ? state === "running" : state === "terminated" && exitCode === 0;
}

function isOver({ state, exitCode }: ContainerRun, container: Container, pod: Pod): boolean {
  return state === "terminated" && !isRestarted(exitCode, restartPolicyOf(container, pod, false));
}

interface ContainerAdvance extends Advance {
  readonly isInit: boolean;
}

/** Lets one container start, exit and restart. Returns the time of what happens to it next. */
function runContainer(state: ContainerRun, container: Container, step: ContainerAdvance): number {
  const { pod, wishes, delays, commands, now, isInit, tell } = step;
  if (state.state === "waiting") {
    const isMissing = isMissingImage(container.image ?? "");
    const error = wishes.imagePullError ?? (isMissing ? "true" : undefined);
    if (error !== undefined) return failPull(state, container, { error, now, tell });
    const prepared = commands.prepare(pod, container, state.left);
    if ("fault" in prepared) return failCreation(state, container, { ...prepared, tell });
    start(state, now);
    Object.assign(state, prepared);
    tellStart(tell, container);
  }
  const policy = restartPolicyOf(container, pod, isInit);
  for (;;) {
    if (state.state === "running") {
      const exit = exitOf(container, state, step);
      const exitsAt = state.startedAt + (exit?.afterMs ?? Infinity);
      const readyAt = readyAtOf(state, { wishes, delays });
      if (now < exitsAt) return Math.min(exitsAt, readyAt > now ? readyAt : Infinity);
      const { code = 0, message } = exit ?? {};
      terminate(state, { at: exitsAt, code, message });
      state.left = commands.keepFiles({ pod, container, run: state }, exitsAt);
    }
    if (!isRestarted(state.exitCode, policy)) return Infinity;
    const next = backOff(state, container, { pod, now, tell });
    if (next !== undefined) return next;
    const prepared = commands.prepare(pod, container, state.left);
    if ("fault" in prepared) return failCreation(state, container, { ...prepared, tell });
    restartAfterCrash(state, now);
    Object.assign(state, prepared);
    tellStart(tell, container);
  }
}

/** Leaves a container without its environment. It waits for the objects that the fault names. */
function failCreation(
  state: ContainerRun,
  container: Container,
  { fault: message, tell }: { readonly fault: string | undefined; readonly tell: TellContainer },
): number {
  if (message === undefined || state.waitingReason?.message === message) return Infinity;
  state.waitingReason = { reason: "CreateContainerConfigError", message };
  tellFailedCreation(tell, container, message);
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
 * When a container exits by itself; undefined = never. Commands count for init containers and for pods
 * that may end: a container that is always restarted runs on.
 */
function exitOf(
  container: Container,
  state: ContainerRun,
  { pod, wishes, delays, commands, isInit }: ContainerAdvance,
): (ContainerExit & Partial<CommandExit>) | undefined {
  const wished = wishes.exitOf(container.name, isInit);
  if (wished !== undefined) return wished;
  if (isInit && isSidecar(container)) return undefined;
  const mayEnd = isInit || restartPolicyOf(container, pod, false) !== "Always";
  if (mayEnd) {
    if (state.commandExit === undefined) {
      state.commandExit = commands.exitOf({ pod, container, run: state }) ?? null;
    }
    if (state.commandExit !== null) return state.commandExit;
  }
  if (isInit) return { afterMs: delays.initMs, code: 0 };
  const isEphemeral = pod.spec?.ephemeralContainers?.includes(container) === true;
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== "Job" || isEphemeral) return undefined;
  return { afterMs: delays.jobMs, code: 0 };
}
