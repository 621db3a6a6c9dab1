import type { Container, Pod } from "#kinds";
import type { PodSettings } from "../annotations.ts";
import type { ContainerCommands } from "../environment/container-commands.ts";
import type { Prober } from "../probes/prober.ts";
import {
  type RecordContainerEvent,
  recordNotSimulated,
  recordStart,
} from "../events/container-events.ts";
import { type ContainerRun, terminate } from "./container-run.ts";

/** Exit code and reason by which containerd reports a command that could not be started. */
const startErrorCode = 128;
const startErrorReason = "StartError";

/** Records the start of a container, which fails under strict simulation if its program is not simulated. */
export function beginRun(
  run: ContainerRun,
  container: Container,
  { pod, podSettings, commands, record, now, isInit, prober }: StartedStep,
): void {
  const isAnnotated = podSettings.exitOf(container.name, isInit) !== undefined;
  const part = isAnnotated ? undefined : commands.notSimulatedOf({ pod, container, run });
  if (part?.isProgram === true && prober.isStrict) {
    const message = startError(part.program);
    terminate(run, { at: now, code: startErrorCode, reason: startErrorReason, message });
    run.startedAt = 0;
    return recordStart(record, container, message);
  }
  recordStart(record, container);
  if (part === undefined) return;
  const effect = `Command of container ${container.name} is not run, and the container runs without it`;
  recordNotSimulated(record, container, { run, part: part.program, effect });
}

interface StartedStep {
  readonly pod: Pod;
  readonly podSettings: PodSettings;
  readonly commands: Pick<ContainerCommands, "notSimulatedOf">;
  readonly prober: Pick<Prober, "isStrict">;
  readonly record: RecordContainerEvent;
  /** Wall clock in ms. */
  readonly now: number;
  readonly isInit: boolean;
}

/** Message of containerd and runc for a program that an image does not have. */
function startError(program: string): string {
  const why = program.includes("/")
    ? "no such file or directory"
    : "executable file not found in $PATH";
  return (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: " +
    "runc create failed: unable to start container process: error during container init: exec: " +
    `${JSON.stringify(program)}: ${why}: unknown`
  );
}
