import {
  type Container,
  type ContainerState,
  type ContainerStateTerminated,
  type ContainerStatus,
  isSidecar,
  type Pod,
  type PodStatus,
  type ResourceRequirements,
  type VolumeMountStatus,
} from "#kinds";
import { containerId, imageId, timeText } from "../identifiers.ts";
import { type ContainerEnd, type ContainerRun, newContainer } from "./container-run.ts";
import { hasStartedUp, isProbedReady } from "../probes/probe-states.ts";
import { readyAtOf } from "../lifecycle/container-ends.ts";
import type { Advance, PodRun } from "./pod-run.ts";

type StatusLists = Required<
  Pick<PodStatus, "initContainerStatuses" | "containerStatuses" | "ephemeralContainerStatuses">
>;

/** Container statuses of a pod: init containers in spec order, containers by name. */
export function containerStatuses(run: PodRun, step: Advance): StatusLists {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = step.pod.spec ?? {};
  const waiting = initContainers.length > 0 ? "PodInitializing" : "ContainerCreating";
  const statusOf = (kind: Kind) => (container: Container) =>
    containerStatus(run, container, { ...step, kind, waiting });
  const byName = (left: Container, right: Container) => (left.name < right.name ? -1 : 1);
  return {
    initContainerStatuses: initContainers.map(statusOf("init")),
    containerStatuses: containers.toSorted(byName).map(statusOf("container")),
    ephemeralContainerStatuses: ephemeralContainers.toSorted(byName).map(statusOf("ephemeral")),
  };
}

type Kind = "init" | "container" | "ephemeral";

interface StatusStep extends Advance {
  readonly kind: Kind;
  /** Default reason of waiting containers. */
  readonly waiting: string;
}

function containerStatus(run: PodRun, container: Container, step: StatusStep): ContainerStatus {
  const { name, image = "" } = container;
  const state = run.containers.get(name);
  const volumeMounts = container.volumeMounts?.map(mountStatus) ?? [];
  const mounts = volumeMounts.length === 0 ? {} : { volumeMounts };
  if (state === undefined || state.state === "waiting") {
    return {
      name,
      state: neverStarted(run, state, step),
      lastState: {},
      ready: false,
      restartCount: 0,
      image,
      imageID: "",
      ...startedOf(container, false),
      ...mounts,
    };
  }
  const id = containerId(run.uid, name, state.restarts);
  const isRunning = state.state === "running";
  return {
    name,
    ...statesOf(run, name, state),
    ready: isReady(container, state, step),
    restartCount: state.restarts,
    image,
    imageID: imageId(image),
    containerID: id,
    ...startedOf(container, isRunning && hasStartedUp(container, state)),
    ...resourcesOf(container, isRunning ? run.allocation?.actuated?.get(name) : undefined),
    ...mounts,
  };
}

/** State of a container that was never started. */
function neverStarted(
  run: PodRun,
  state: ContainerRun | undefined,
  { kind, waiting, pod }: StatusStep,
): ContainerState {
  if (run.isFinished && kind === "container" && isInitialized(run, pod)) {
    const message = "The container could not be located when the pod was terminated";
    return { terminated: { exitCode: 137, reason: "ContainerStatusUnknown", message, ...noTimes } };
  }
  return { waiting: state?.waitingReason ?? { reason: waiting } };
}

/** Whether a regular container has started, or all init containers have completed. */
function isInitialized({ containers: runs }: PodRun, { spec }: Pod): boolean {
  const { initContainers = [], containers = [] } = spec ?? {};
  const lastInit = initContainers.at(-1);
  if (lastInit === undefined) return true;
  const isStarted = ({ state, restarts }: ContainerRun) => state !== "waiting" || restarts > 0;
  if (containers.some(({ name }) => isStarted(runs.get(name) ?? newContainer()))) return true;
  const run = runs.get(lastInit.name) ?? newContainer();
  if (isSidecar(lastInit)) return run.state === "running";
  return run.exitCode === 0 && run.state === "terminated";
}

/**
 * `started` of a container. Like a hollow kubelet, a node sets it only for sidecars and for containers with a
 * startup probe.
 */
function startedOf(container: Container, started: boolean): Pick<ContainerStatus, "started"> {
  const isAwaited = isSidecar(container) || container.startupProbe !== undefined;
  return isAwaited ? { started } : {};
}

const noTimes = { startedAt: null, finishedAt: null };

function statesOf(
  { uid }: PodRun,
  name: string,
  state: ContainerRun,
): Pick<ContainerStatus, "state" | "lastState"> {
  const { last, restarts, waitingReason } = state;
  const before =
    last === undefined
      ? {}
      : { terminated: terminated(last, containerId(uid, name, restarts - 1)) };
  if (state.state === "running") {
    return { state: { running: { startedAt: timeText(state.startedAt) } }, lastState: before };
  }
  const end = { terminated: terminated(state, containerId(uid, name, restarts)) };
  if (waitingReason === undefined) return { state: end, lastState: before };
  return { state: { waiting: waitingReason }, lastState: end };
}

function terminated(
  { exitCode, startedAt, finishedAt, message, reason }: ContainerEnd,
  containerID: string,
): ContainerStateTerminated {
  return {
    exitCode,
    reason: reason ?? (exitCode === 0 ? "Completed" : "Error"),
    ...(message === undefined || message === "" ? {} : { message }),
    startedAt: timeText(startedAt),
    finishedAt: timeText(finishedAt),
    containerID,
  };
}

/** Readiness: an init container once it has succeeded, any other container while it runs. */
function isReady(container: Container, state: ContainerRun, step: StatusStep): boolean {
  if (step.kind === "init" && !isSidecar(container)) {
    return state.state === "terminated" && state.exitCode === 0;
  }
  if (step.kind === "ephemeral") return false;
  if (state.state !== "running" || !isProbedReady(container, state)) return false;
  return step.now >= readyAtOf(container, state, { ...step, isInit: step.kind === "init" });
}

/**
 * `resources` of a started container: the allocated ones.
 * @param actuated actual resources during a resize
 */
function resourcesOf(
  { resources = {} }: Container,
  actuated: ResourceRequirements | undefined,
): Partial<ContainerStatus> {
  const { requests } = resources;
  const allocated = requests === undefined ? {} : { allocatedResources: requests };
  return { ...allocated, resources: actuated ?? resources };
}

function mountStatus({ name, mountPath, readOnly }: VolumeMountStatus): VolumeMountStatus {
  if (readOnly !== true) return { name, mountPath };
  return { name, mountPath, readOnly, recursiveReadOnly: "Disabled" };
}

/** Whether any container of the list has ever started. */
export function hasStarted(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  const { containers = [] } = pod.spec ?? {};
  return containers.some(({ name }) => {
    const status = statuses.find((each) => each.name === name);
    return (
      status?.state?.running !== undefined ||
      status?.state?.terminated !== undefined ||
      status?.lastState?.terminated !== undefined
    );
  });
}
