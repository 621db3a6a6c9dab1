import type { ContainerExit } from "../annotations.ts";
import type { ProbeStates } from "../probes/probe-states.ts";

/** Runtime state of a container. Times are wall clock in ms. */
export interface ContainerRun {
  state: "waiting" | "running" | "terminated";
  startedAt: number;
  /** Time of the exit, while the state is `terminated`. */
  finishedAt: number;
  exitCode: number;
  message: string | undefined;
  /** Reason of the exit; undefined = that of its code. */
  reason: string | undefined;
  /** Number of restarts. */
  restarts: number;
  /** End of the previous run. */
  last: ContainerEnd | undefined;
  /** Waiting reason that overrides that of the state. */
  waitingReason: WaitingReason | undefined;
  /** Backoff of the next restart after a crash in ms; 0 = no recent crash. */
  backoffMs: number;
  backoffSetAt: number;
  /** Environment at the start, if it depends on objects that may change afterwards. */
  declared: ReadonlyMap<string, string> | undefined;
  /** Files of its volumes at the last start; undefined = unknown. */
  scratch: ScratchFiles | undefined;
  /** Files of its emptyDir volumes at the last exit; undefined = unknown. */
  left: ScratchFiles | undefined;
  /** Exit of its command, once evaluated; `null` = unknown. */
  commandExit: CommandExit | null | undefined;
  /** Results of its probes since its start; undefined = none has run. */
  probes: ProbeStates | undefined;
  /** Exit of a container that its kubelet kills and restarts. */
  killed: ContainerExit | undefined;
  /** Time in ms that its preStop hook takes; undefined = not called. */
  preStopMs: number | undefined;
  /** Programs of which an Event has said that they are not simulated. */
  told: ReadonlySet<string>;
  /** Number of failed image pulls. */
  failedPulls: number;
  pulledAt: number;
}

/** Contents of files in writable volumes, by `<volume>/<path>`. */
export type ScratchFiles = ReadonlyMap<string, string>;

export interface CommandExit extends ContainerExit {
  /** Termination message. */
  readonly message: string | undefined;
}

export interface ContainerEnd {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  /** Termination message; absent = none. */
  readonly message?: string | undefined;
  /** Reason; absent = that of the exit code. */
  readonly reason?: string | undefined;
  /** Files of its volumes; absent = unknown. */
  readonly scratch?: ScratchFiles | undefined;
}

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

const empty: ScratchFiles = new Map();
const none: ReadonlySet<string> = new Set();

export function newContainer(): ContainerRun {
  return {
    state: "waiting",
    startedAt: 0,
    finishedAt: 0,
    exitCode: 0,
    restarts: 0,
    last: undefined,
    waitingReason: undefined,
    backoffMs: 0,
    backoffSetAt: 0,
    message: undefined,
    reason: undefined,
    declared: undefined,
    scratch: empty,
    left: empty,
    commandExit: undefined,
    probes: undefined,
    killed: undefined,
    preStopMs: undefined,
    told: none,
    failedPulls: 0,
    pulledAt: 0,
  };
}

export function start(container: ContainerRun, now: number): void {
  container.state = "running";
  container.startedAt = now;
  container.waitingReason = undefined;
  container.commandExit = undefined;
  container.probes = undefined;
  container.killed = undefined;
  container.preStopMs = undefined;
}

export function terminate(
  container: ContainerRun,
  end: {
    readonly at: number;
    readonly code: number;
    readonly message?: string | undefined;
    readonly reason?: string;
  },
): void {
  container.state = "terminated";
  container.finishedAt = end.at;
  container.exitCode = end.code;
  container.message = end.message;
  container.reason = end.reason;
  container.waitingReason = undefined;
}

/** Restarts a terminated container. */
export function restart(container: ContainerRun, now: number): void {
  const { startedAt, finishedAt, exitCode, message, reason, scratch } = container;
  container.last = { startedAt, finishedAt, exitCode, message, reason, scratch };
  container.restarts += 1;
  start(container, now);
}
