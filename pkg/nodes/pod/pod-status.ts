import type { Pod, PodCondition, PodPhase, PodStatus } from "#kinds";
import { timeText } from "../identifiers.ts";
import { addressFields } from "./addresses.ts";
import { kubeletConditions } from "./conditions.ts";
import { containerStatuses } from "./container-statuses.ts";
import { phaseOf } from "./phase.ts";
import { resizeConditions } from "./allocation.ts";
import type { Advance, PodFailure, PodRun } from "./pod-run.ts";

/** The status that a kubelet writes for a pod. Fields that it leaves to others are absent. */
export function podStatus(
  run: PodRun,
  step: Advance,
): PodStatus & { readonly conditions: readonly PodCondition[] } {
  if (run.isRefused) return refusedStatus(run, step.pod);
  const { pod, now, hostIps } = step;
  const lists = containerStatuses(run, step);
  const statuses = [...lists.initContainerStatuses, ...lists.containerStatuses];
  const phase = phaseNow(run, pod, phaseOf(pod, statuses, run.isFinished));
  const { generation } = pod.metadata;
  const time = timeText(now);
  const { isSandboxReady } = run;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    ...reasonOf(run, pod),
    ...(pod.status?.qosClass === undefined ? {} : { qosClass: pod.status.qosClass }),
    startTime: pod.status?.startTime ?? timeText(run.admittedAt),
    ...addressFields({ hostIps, podIps: run.ips }),
    conditions: [
      ...resizeConditions(run),
      ...kubeletConditions({ pod, statuses, phase, isSandboxReady, time }),
      ...disruptionConditions(run, pod, time),
    ],
    ...nonEmpty(lists),
  };
}

/** A pod that its node has refused has no containers and no address. */
function refusedStatus(run: PodRun, pod: Pod): ReturnType<typeof podStatus> {
  const { generation } = pod.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: "Failed",
    ...reasonOf(run, pod),
    startTime: pod.status?.startTime ?? timeText(run.admittedAt),
    conditions: [],
  };
}

/** Messages of the condition by which a pod tells its controllers that its node has ended it. */
const disruptionMessages: Readonly<Record<string, (failure: PodFailure) => string>> = {
  Evicted: ({ message }) => message,
  Preempting: () => "Pod was preempted by Kubelet to accommodate a critical pod.",
};

function disruptionConditions(
  { failure, isFinished }: PodRun,
  { metadata, status }: Pod,
  time: string,
): readonly PodCondition[] {
  const messageOf = disruptionMessages[failure?.reason ?? ""];
  if (!isFinished || failure === undefined || messageOf === undefined) return [];
  const type = "DisruptionTarget";
  const { generation } = metadata;
  const known = status?.conditions?.find((each) => each.type === type && each.status === "True");
  return [
    {
      type,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      status: "True",
      reason: "TerminationByKubelet",
      message: messageOf(failure),
      lastProbeTime: null,
      lastTransitionTime: known?.lastTransitionTime ?? time,
    },
  ];
}

/** Lists without elements are left out. */
function nonEmpty(lists: ReturnType<typeof containerStatuses>): Partial<PodStatus> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** A pod does not leave a terminal phase; one that the node ended has failed. */
function phaseNow({ failure, isFinished }: PodRun, { status }: Pod, phase: PodPhase): PodPhase {
  const stored = status?.phase;
  if (stored === "Failed" || stored === "Succeeded") return stored;
  if (!isFinished) return phase;
  return failure !== undefined || phase !== "Succeeded" ? "Failed" : phase;
}

/** Why the node has ended a pod is told with the phase, once no container runs. */
function reasonOf(
  { failure, isFinished }: PodRun,
  { status }: Pod,
): Pick<PodStatus, "reason" | "message"> {
  const { reason, message } = (isFinished ? failure : undefined) ?? status ?? {};
  return { ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}
