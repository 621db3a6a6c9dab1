/** Table rows of pods. */
import type { Cell, RowCondition, RowContext } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf, timeSince } from "../../printing.ts";
import type { Pod } from "./pod-types.ts";
import { isSidecar } from "../shared/resource-amounts.ts";

const noneText = "<none>";

export const podColumns = [
  nameColumn,
  column("Ready", "Ready containers out of all."),
  column("Status", "Phase of the pod, or the reason why it does not run."),
  column("Restarts", "Number of container restarts."),
  ageColumn,
  column("IP", "IP address of the pod.", { priority: 1 }),
  column("Node", "Node that the pod runs on.", { priority: 1 }),
  column(
    "Nominated Node",
    "Node on which the scheduler expects to place the pod after preemption.",
    { priority: 1 },
  ),
  column("Readiness Gates", "Readiness gates that are True out of all.", {
    priority: 1,
  }),
];

type Status = NonNullable<Pod["status"]["containerStatuses"]>[number];

/** Intermediate result of the walk over container statuses. */
interface Summary {
  readonly ready: number;
  readonly restarts: number;
  /** Time of the last restart; "" = never. */
  readonly lastRestart: string;
  readonly reason: string;
}

/** Reason of termination, else `Signal:9` or `ExitCode:3`. */
function terminationReason({
  reason,
  signal,
  exitCode,
}: NonNullable<Status["state"]["terminated"]>): string {
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function later(left: string, status: Status): string {
  const right = status.lastState.terminated?.finishedAt ?? "";
  if (right === "") return left;
  return left === "" || Date.parse(right) > Date.parse(left) ? right : left;
}

/** Reason why an init container blocks the start of the pod; undefined if it does not. */
function initBlocker(status: Status, done: number, total: number): string | undefined {
  const { terminated, waiting } = status.state;
  if (terminated !== undefined) {
    return terminated.exitCode === 0 ? undefined : `Init:${terminationReason(terminated)}`;
  }
  if (waiting?.reason && waiting.reason !== "PodInitializing") return `Init:${waiting.reason}`;
  return `Init:${done}/${total}`;
}

interface Initialization {
  /** Summary of init containers up to the first incomplete one. */
  readonly all: Summary;
  /** Summary of the sidecars among them. */
  readonly sidecars: Summary;
  readonly isOver: boolean;
}

function initialization({ spec, status }: Pod, reason: string): Initialization {
  const containers = spec.initContainers ?? [];
  const sidecarNames = new Set(containers.filter(isSidecar).map(({ name }) => name));
  let [ready, restarts, sidecarRestarts] = [0, 0, 0];
  let [lastRestart, lastSidecarRestart] = ["", ""];
  let fault: string | undefined;
  for (const [index, each] of (status.initContainerStatuses ?? []).entries()) {
    restarts += each.restartCount;
    lastRestart = later(lastRestart, each);
    const sidecar = sidecarNames.has(each.name);
    if (sidecar) {
      sidecarRestarts += each.restartCount;
      lastSidecarRestart = later(lastSidecarRestart, each);
    }
    const isDone = each.state.terminated?.exitCode === 0;
    if (!isDone && sidecar && each.started) {
      if (each.ready) ready++;
      continue;
    }
    fault = initBlocker(each, index, containers.length);
    if (fault !== undefined) break;
  }
  const displayedReason = fault ?? reason;
  return {
    all: { ready, restarts, lastRestart, reason: displayedReason },
    sidecars: {
      ready,
      restarts: sidecarRestarts,
      lastRestart: lastSidecarRestart,
      reason: displayedReason,
    },
    isOver: fault === undefined,
  };
}

function hasCondition({ status }: Pod, type: string): boolean {
  return (status.conditions ?? []).some((each) => each.type === type && each.status === "True");
}

/** Adds the main containers; the reason of the first one takes precedence. */
function withMainContainers(pod: Pod, before: Summary): Summary {
  let { ready, restarts, lastRestart, reason } = before;
  let isRunning = false;
  for (const each of (pod.status.containerStatuses ?? []).toReversed()) {
    restarts += each.restartCount;
    lastRestart = later(lastRestart, each);
    const { waiting, terminated } = each.state;
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated !== undefined) reason = terminationReason(terminated);
    else if (each.ready && each.state.running !== undefined) {
      isRunning = true;
      ready++;
    }
  }
  if (reason === "Completed" && isRunning) {
    reason = hasCondition(pod, "Ready") ? "Running" : "NotReady";
  }
  return { ready, restarts, lastRestart, reason };
}

/** Initial STATUS: reason of the status, `SchedulingGated` or the phase. */
function initialReason({ status }: Pod): string {
  const isGated = (status.conditions ?? []).some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  return isGated ? "SchedulingGated" : status.reason || (status.phase ?? "");
}

function lastReason(pod: Pod, reason: string): string {
  if (!pod.metadata.deletionTimestamp) return reason;
  if (pod.status.reason === "NodeLost") return "Unknown";
  return isOver(pod) ? reason : "Terminating";
}

function isOver({ status }: Pod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function summaryOf(pod: Pod): Summary {
  const { all, sidecars, isOver: initialized } = initialization(pod, initialReason(pod));
  return initialized || hasCondition(pod, "Initialized") ? withMainContainers(pod, sidecars) : all;
}

function gatesOf(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? [];
  if (gates.length === 0) return noneText;
  const met = gates.filter(({ conditionType }) => hasCondition(pod, conditionType));
  return `${met.length}/${gates.length}`;
}

export function podRow(pod: Pod, context: RowContext): readonly Cell[] {
  const { spec, status } = pod;
  const { ready, restarts, lastRestart, reason } = summaryOf(pod);
  const total =
    (spec.containers ?? []).length + (spec.initContainers ?? []).filter(isSidecar).length;
  const since = lastRestart === "" ? "" : ` (${timeSince(lastRestart, context.now)} ago)`;
  return [
    nameOf(pod),
    `${ready}/${total}`,
    lastReason(pod, reason),
    restarts === 0 ? "0" : `${restarts}${since}`,
    ageOf(pod, context),
    status.podIPs?.[0]?.ip || noneText,
    spec.nodeName || noneText,
    status.nominatedNodeName || noneText,
    gatesOf(pod),
  ];
}

/** Row condition Completed of pods that have terminated. */
export function podRowConditions({ status }: Pod): readonly RowCondition[] {
  if (status.phase === "Succeeded") {
    const message = "The pod has completed successfully.";
    return [{ type: "Completed", status: "True", reason: "Succeeded", message }];
  }
  if (status.phase !== "Failed") return [];
  return [{ type: "Completed", status: "True", reason: "Failed", message: "The pod failed." }];
}
