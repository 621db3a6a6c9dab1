import type { Container } from "#kinds";
import type { PodSettings } from "../annotations.ts";
import type { ContainerCommands } from "../environment/container-commands.ts";
import { callPostStart, type HookStep } from "../lifecycle/hooks.ts";
import { kill } from "../lifecycle/kill.ts";
import { recordNotSimulated, recordStart } from "../events/container-events.ts";
import { type ContainerRun, terminate } from "./container-run.ts";

/** Exit code and reason by which containerd reports a command that could not be started. */
const startErrorCode = 128;
const startErrorReason = "StartError";

/** Records the start of a container, which fails under strict simulation if its program is not simulated. */
export function beginRun(run: ContainerRun, container: Container, step: StartedStep): void {
  const { pod, podSettings, commands, record, now, isInit, prober } = step;
  const isAnnotated = podSettings.exitOf(container.name, isInit) !== undefined;
  const part = isAnnotated ? undefined : commands.notSimulatedOf({ pod, container, run });
  if (part?.isProgram === true && prober.isStrict) {
    const message = startError(part.program);
    terminate(run, { at: now, code: startErrorCode, reason: startErrorReason, message });
    run.startedAt = 0;
    return recordStart(record, container, message);
  }
  recordStart(record, container);
  if (!callPostStart(run, container, step)) {
    kill(run, container, { ...step, why: "FailedPostStartHook" });
  }
  if (part === undefined) return;
  const effect = `Command of container ${container.name} is not run, and the container runs without it`;
  recordNotSimulated(record, container, { run, part: part.program, effect });
}

interface StartedStep extends HookStep {
  readonly podSettings: PodSettings;
  readonly commands: Pick<ContainerCommands, "notSimulatedOf">;
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
