import type { Container, Pod, Probe } from "#kinds";
import { type RecordContainerEvent, recordNotSimulated } from "../events/container-events.ts";
import type { ContainerRun } from "../pod/container-run.ts";
import type { ProbeOutcome, Prober } from "./prober.ts";
import {
  hasProbes,
  hasStartedUp,
  newProbeStates,
  type ProbeKind,
  probeKinds,
  type ProbeState,
} from "./probe-states.ts";

export interface ProbeStep {
  readonly pod: Pod;
  readonly prober: Pick<Prober, "outcomeOf">;
  /** Wall clock in ms. */
  readonly now: number;
  readonly record: RecordContainerEvent;
}

export interface ProbeResult {
  /** Time in ms of the next call of a probe; Infinity = none until the pod changes. */
  readonly next: number;
  /** The probe whose failure ends the container. */
  readonly failed?: Exclude<ProbeKind, "readiness">;
}

const defaultPeriodSeconds = 10;
const defaultFailures = 3;
const nothing: ProbeResult = { next: Infinity };

/** Calls the probes of a running container that are due. */
export function callProbes(run: ContainerRun, container: Container, step: ProbeStep): ProbeResult {
  if (!hasProbes(container)) return nothing;
  const states = (run.probes ??= newProbeStates(container, run.startedAt));
  let next = Infinity;
  for (const kind of probeKinds) {
    const state = states[kind];
    const probe = container[`${kind}Probe`];
    if (state === undefined || probe === undefined) continue;
    const isOver = kind === "startup" && state.result === true;
    if (isOver || (kind !== "startup" && !hasStartedUp(container, run))) continue;
    next = Math.min(next, callProbe(run, container, { ...step, kind, probe, state }));
    if (kind !== "readiness" && state.result === false) return { next: Infinity, failed: kind };
  }
  return { next };
}

interface OneProbe extends ProbeStep {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly state: ProbeState;
}

/** Calls one probe if it is due. Returns the time in ms of its next call. */
function callProbe(run: ContainerRun, container: Container, call: OneProbe): number {
  const { pod, prober, now, kind, probe, state } = call;
  const periodMs = Math.max(1, Number(probe.periodSeconds ?? defaultPeriodSeconds)) * 1000;
  const outcomeOf = () => prober.outcomeOf({ pod, container, run }, kind, probe);
  let outcome: ProbeOutcome | undefined;
  if (state.settled !== undefined) {
    outcome = outcomeOf();
    if (outcome.isFixed && outcome.result === state.settled) return Infinity;
    state.settled = undefined;
    state.dueAt += Math.ceil(Math.max(0, now - state.dueAt) / periodMs) * periodMs;
  }
  if (now < state.dueAt) return state.dueAt;
  outcome ??= outcomeOf();
  count(state, outcome, probe);
  recordOutcome(run, container, { ...call, outcome });
  state.dueAt = now - state.dueAt < periodMs ? state.dueAt + periodMs : now + periodMs;
  const isCounted = outcome.result === "error" || state.result === (outcome.result === "success");
  if (!outcome.isFixed || !isCounted) return state.dueAt;
  state.settled = outcome.result;
  return Infinity;
}

/** Counts an outcome: the result changes once the threshold is reached. Errors do not count. */
function count(
  state: ProbeState,
  { result }: ProbeOutcome,
  { successThreshold, failureThreshold }: Probe,
): void {
  if (result === "error") return;
  const isSuccess = result === "success";
  state.count = state.last === isSuccess ? state.count + 1 : 1;
  state.last = isSuccess;
  const threshold = isSuccess ? (successThreshold ?? 1) : (failureThreshold ?? defaultFailures);
  if (state.count >= Number(threshold)) state.result = isSuccess;
}

function recordOutcome(
  run: ContainerRun,
  container: Container,
  { kind, record, outcome }: OneProbe & { readonly outcome: ProbeOutcome },
): void {
  const { result, output, notRun } = outcome;
  const name = kind.charAt(0).toUpperCase() + kind.slice(1);
  if (notRun !== undefined) {
    const effect = `${name} probe of container ${container.name} was not run and passes`;
    recordNotSimulated(record, container, { run, part: notRun, effect });
  }
  if (result === "success") return;
  const how = result === "error" ? "errored and resulted in unknown state" : "failed";
  const message = `${name} probe ${how}: ${output}`;
  record(container, { type: "Warning", reason: "Unhealthy", message });
}
