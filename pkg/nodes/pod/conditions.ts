/** Conditions of a pod that its kubelet owns, with the kubelet's reasons and messages. */
import {
  type ContainerStatus,
  isSidecar,
  type Pod,
  type PodCondition,
  type PodPhase,
} from "#kinds";
import { hasStarted } from "./container-statuses.ts";

type Verdict = Pick<PodCondition, "status" | "reason" | "message">;

export interface ConditionsInput {
  readonly pod: Pod;
  /** Statuses of init containers and containers. */
  readonly statuses: readonly ContainerStatus[];
  readonly phase: PodPhase;
  readonly isSandboxReady: boolean;
  /** Current time, for conditions that change. */
  readonly time: string;
}

/** All conditions of a kubelet, in its order. */
export function kubeletConditions(input: ConditionsInput): readonly PodCondition[] {
  const { pod, isSandboxReady, time } = input;
  const containersReady = containersReadyOf(input);
  const verdicts: readonly (readonly [string, Verdict])[] = [
    ["PodReadyToStartContainers", { status: isSandboxReady ? "True" : "False" }],
    ["Initialized", initializedOf(input)],
    ["Ready", readyOf(input, containersReady)],
    ["ContainersReady", containersReady],
    ["PodScheduled", { status: "True" }],
  ];
  const { generation } = pod.metadata;
  return verdicts.map(([type, verdict]) => {
    const old = pod.status?.conditions?.find((each) => each.type === type);
    const changed = old?.status !== verdict.status ? time : old.lastTransitionTime;
    return {
      type,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...verdict,
      lastProbeTime: null,
      lastTransitionTime: changed ?? time,
    };
  });
}

/** Prints names like a Go slice. */
const listed = (names: readonly string[]): string => `[${names.join(" ")}]`;

function messageOf(parts: readonly (readonly [string, readonly string[]])[]): string {
  return parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `containers with ${what} status: ${listed(names)}`)
    .join(", ");
}

function containersReadyOf({ pod, statuses, phase }: ConditionsInput): Verdict {
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const needed = [...initContainers.filter(isSidecar), ...containers];
  const unready = needed.filter(
    ({ name }) => statuses.find((each) => each.name === name)?.ready !== true,
  );
  if (unready.length === 0) return { status: "True" };
  const message = messageOf([["unready", unready.map(({ name }) => name)]]);
  return { status: "False", reason: "ContainersNotReady", message };
}

function readyOf({ pod }: ConditionsInput, containersReady: Verdict): Verdict {
  if (containersReady.status !== "True") return containersReady;
  const messages: string[] = [];
  for (const { conditionType } of pod.spec?.readinessGates ?? []) {
    const found = pod.status?.conditions?.find(({ type }) => type === conditionType);
    const gate = JSON.stringify(conditionType);
    if (found === undefined) {
      messages.push(`corresponding condition of pod readiness gate ${gate} does not exist.`);
    } else if (found.status !== "True") {
      messages.push(`the status of pod readiness gate ${gate} is not "True", but ${found.status}`);
    }
  }
  if (messages.length === 0) return { status: "True" };
  return { status: "False", reason: "ReadinessGatesNotReady", message: messages.join(", ") };
}

function initializedOf({ pod, statuses, phase }: ConditionsInput): Verdict {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  if (hasStarted(pod, statuses)) return { status: "True" };
  const { initContainers = [] } = pod.spec ?? {};
  const incomplete = initContainers.filter((container) => {
    const status = statuses.find(({ name }) => name === container.name);
    return isSidecar(container) ? status?.started !== true : status?.ready !== true;
  });
  if (incomplete.length === 0) return { status: "True" };
  const message = messageOf([["incomplete", incomplete.map(({ name }) => name)]]);
  return { status: "False", reason: "ContainersNotInitialized", message };
}
