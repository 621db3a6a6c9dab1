import type { Container, Pod } from "#kinds";
import { type RecordContainerEvent, recordNotSimulated } from "../events/container-events.ts";
import type { ContainerRun } from "../pod/container-run.ts";
import type { Prober } from "../probes/prober.ts";

export interface HookStep {
  readonly pod: Pod;
  readonly prober: Pick<Prober, "run" | "isStrict">;
  readonly record: RecordContainerEvent;
}

const names = { postStart: "PostStartHook", preStop: "PreStopHook" } as const;

/** Calls the postStart hook of a started container. Returns whether it has succeeded. */
export function callPostStart(run: ContainerRun, container: Container, step: HookStep): boolean {
  return callHook(run, container, { ...step, kind: "postStart" }).isPassed;
}

/** Time in ms that the preStop hook of a container takes; it is called once. */
export function preStopMsOf(run: ContainerRun, container: Container, step: HookStep): number {
  run.preStopMs ??= callHook(run, container, { ...step, kind: "preStop" }).tookMs;
  return run.preStopMs;
}

function callHook(
  run: ContainerRun,
  container: Container,
  { kind, pod, prober, record }: HookStep & { readonly kind: keyof typeof names },
): { readonly isPassed: boolean; readonly tookMs: number } {
  const { exec, sleep } = container.lifecycle?.[kind] ?? {};
  if (exec === undefined) return { isPassed: true, tookMs: Number(sleep?.seconds ?? 0) * 1000 };
  const { exitCode, notSimulated, sleptMs } = prober.run({ pod, container, run }, exec);
  const isPassed = notSimulated === undefined ? exitCode === 0 : !prober.isStrict;
  if (!isPassed) {
    const event = { reason: `Failed${names[kind]}`, message: `${names[kind]} failed` };
    record(container, { type: "Warning", ...event });
  } else if (notSimulated !== undefined) {
    const effect = `${kind} hook of container ${container.name} was not run and passes`;
    recordNotSimulated(record, container, { run, part: notSimulated, effect });
  }
  return { isPassed, tookMs: sleptMs };
}
