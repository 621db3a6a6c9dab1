import type { Pod, PodCondition, PodPhase, PodStatus } from "#kinds";
import { timeText } from "../identifiers.ts";
import { addressFields } from "./addresses.ts";
import { kubeletConditions } from "./conditions.ts";
import { containerStatuses } from "./container-statuses.ts";
import { phaseOf } from "./phase.ts";
import { resizeConditions } from "./allocation.ts";
import type { PodFailure } from "../lifecycle/container-ends.ts";
import type { Advance, PodRun } from "./pod-run.ts";

/** Status that a kubelet writes for a pod, without the fields of other writers. */
export function podStatus(
  run: PodRun,
  step: Advance,
): PodStatus & { readonly conditions: readonly PodCondition[] } {
  if (run.isRefused) return rejectedStatus(run, step.pod);
  const { pod, now, hostIps } = step;
  const lists = containerStatuses(run, step);
  const statuses = [...lists.initContainerStatuses, ...lists.containerStatuses];
  const phase = currentPhase(run, pod, phaseOf(pod, statuses, run.isFinished));
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

/** Status of a pod that its node has rejected: no containers, no address. */
function rejectedStatus(run: PodRun, pod: Pod): ReturnType<typeof podStatus> {
  const { generation } = pod.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: "Failed",
    ...reasonOf(run, pod),
    startTime: pod.status?.startTime ?? timeText(run.admittedAt),
    conditions: [],
  };
}

/** Messages of condition DisruptionTarget of pods that the node terminated, by reason. */
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

/** Omits empty lists. */
function nonEmpty(lists: ReturnType<typeof containerStatuses>): Partial<PodStatus> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** Current phase: terminal phases are final; a pod that the node terminated is Failed. */
function currentPhase({ failure, isFinished }: PodRun, { status }: Pod, phase: PodPhase): PodPhase {
  const stored = status?.phase;
  if (stored === "Failed" || stored === "Succeeded") return stored;
  if (!isFinished) return phase;
  return failure !== undefined || phase !== "Succeeded" ? "Failed" : phase;
}

/** Reason and message of a pod that the node terminated, once no container runs. */
function reasonOf(
  { failure, isFinished }: PodRun,
  { status }: Pod,
): Pick<PodStatus, "reason" | "message"> {
  const { reason, message } = (isFinished ? failure : undefined) ?? status ?? {};
  return { ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}
