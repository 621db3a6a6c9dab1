import { type Container, type ContainerStatus } from "#kinds";

export const probeKinds = ["startup", "readiness", "liveness"] as const;

export type ProbeKind = (typeof probeKinds)[number];

/** State of one probe since the start of its container. */
export interface ProbeState {
  /** Result that counts, by the thresholds; undefined = none yet. */
  result: boolean | undefined;
  /** Result of the last call, and how often it has occurred in succession. */
  last: boolean | undefined;
  count: number;
  /** Wall clock in ms of the next call. */
  dueAt: number;
  /** Outcome that stays the same until the pod changes, so that the probe is not called again. */
  settled: string | undefined;
}

export type ProbeStates = Readonly<Partial<Record<ProbeKind, ProbeState>>>;

interface Probed {
  readonly probes: ProbeStates | undefined;
}

/** Whether a container has a probe. */
export function hasProbes(container: Container): boolean {
  const { startupProbe, readinessProbe, livenessProbe } = container;
  return (startupProbe ?? readinessProbe ?? livenessProbe) !== undefined;
}

/** States of the probes of a container that starts. */
export function newProbeStates(container: Container, startedAt: number): ProbeStates {
  const states: Partial<Record<ProbeKind, ProbeState>> = {};
  for (const kind of probeKinds) {
    const probe = container[`${kind}Probe`];
    if (probe === undefined) continue;
    const dueAt = startedAt + Number(probe.initialDelaySeconds ?? 0) * 1000;
    states[kind] = { result: undefined, last: undefined, count: 0, dueAt, settled: undefined };
  }
  return states;
}

/** States of the probes of a running container after a restart of its kubelet, by its status. */
export function restoredProbeStates(
  container: Container,
  { started, ready }: ContainerStatus,
  startedAt: number,
): ProbeStates {
  const states = newProbeStates(container, startedAt);
  if (states.startup !== undefined && started === true) states.startup.result = true;
  if (states.readiness !== undefined) states.readiness.result = ready;
  return states;
}

/** Whether the startup probe of a running container, if it has one, has succeeded. */
export function hasStartedUp({ startupProbe }: Container, { probes }: Probed): boolean {
  return startupProbe === undefined || probes?.startup?.result === true;
}

/** Whether the probes of a running container let it be ready. */
export function isProbedReady(container: Container, run: Probed): boolean {
  if (!hasStartedUp(container, run)) return false;
  return container.readinessProbe === undefined || run.probes?.readiness?.result === true;
}
