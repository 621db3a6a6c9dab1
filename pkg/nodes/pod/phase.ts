type State = "unknown" | "never ran" | "running" | "ended";

/** State of a container, and the exit code of its last run. */
function stateOf(status: ContainerStatus | undefined): { state: State; exitCode: number } {
  const { state, lastState } = status ?? {};
  if (state?.running !== undefined) return { state: "running", exitCode: 0 };
  const ended = state?.terminated ?? (state?.waiting && lastState?.terminated);
  if (ended !== undefined) return { state: "ended", exitCode: ended.exitCode };
  return { state: state?.waiting === undefined ? "unknown" : "never ran", exitCode: 0 };
}

/** Phase of a pod by the kubelet's rules, from its container statuses. */
export function phaseOf(
  { spec }: Pod,
  statuses: readonly ContainerStatus[],
  isTerminal: boolean,
): PodPhase {
  const { initContainers = [], containers = [], restartPolicy = "Always" } = spec ?? {};
  const stateOfName = (name: string) => stateOf(statuses.find((each) => each.name === name));
  const inits = initContainers.filter((each) => !isSidecar(each));
  const initStates = inits.map(({ name }) => stateOfName(name));
  if (restartPolicy === "Never" && initStates.some(({ exitCode }) => exitCode !== 0)) {
    return "Failed";
  }
  if (initStates.some(({ state }) => state !== "ended")) return "Pending";
  const states = containers.map(({ name }) => stateOfName(name));
  const sidecars = initContainers.filter(isSidecar).map(({ name }) => stateOfName(name));
  const all = [...states, ...sidecars];
  const hasRun = states.some(({ state }) => state === "running" || state === "ended");
  if (!hasRun && sidecars.some(({ state }) => state !== "running" && state !== "ended")) {
    return "Pending";
  }
  if (all.some(({ state }) => state === "never ran" || state === "unknown")) return "Pending";
  if (all.some(({ state }) => state === "running")) return "Running";
  const isSuccess = states.every(({ exitCode }) => exitCode === 0);
  if (isTerminal) return isSuccess ? "Succeeded" : "Failed";
  if (restartPolicy === "Always") return "Running";
  if (isSuccess) return "Succeeded";
  return restartPolicy === "Never" ? "Failed" : "Running";
}
import { type ContainerStatus, isSidecar, type Pod, type PodPhase } from "#kinds";
