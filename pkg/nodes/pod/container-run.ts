import type { ContainerExit } from "../annotations.ts";

/** What a container runtime would know of a container. Times are wall clock in ms. */
export interface ContainerRun {
  state: "waiting" | "running" | "terminated";
  startedAt: number;
  /** Time and exit code of the end, while the state is `terminated`. */
  finishedAt: number;
  exitCode: number;
  message: string | undefined;
  /** Starts after the first. */
  restarts: number;
  /** The run before this one. */
  last: ContainerEnd | undefined;
  /** Why the container does not run, in place of the reason of its state. */
  waitingReason: WaitingReason | undefined;
  /** Delay before the next restart after a crash; 0 = it has not crashed lately. */
  backoffMs: number;
  backoffSetAt: number;
  /** Its environment, where that comes from objects that may change while it runs. */
  declared: ReadonlyMap<string, string> | undefined;
  /** Files of its volumes as its last start found them; undefined = they are not known. */
  scratch: ScratchFiles | undefined;
  /** Files of its emptyDir volumes as its last end left them; undefined = they are not known. */
  left: ScratchFiles | undefined;
  /** How its command ends, once it has been found out; `null` = that is not known. */
  commandExit: CommandExit | null | undefined;
  /** Failed pulls of the image, and the time of the last. */
  failedPulls: number;
  pulledAt: number;
}

/** Texts of files in volumes to which containers write, by `<volume>/<path>`. */
export type ScratchFiles = ReadonlyMap<string, string>;

export interface CommandExit extends ContainerExit {
  /** What it leaves as its termination message. */
  readonly message: string | undefined;
}

export interface ContainerEnd {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  /** Termination message; absent = it left none. */
  readonly message?: string | undefined;
  /** As in the run; absent = not known. */
  readonly scratch?: ScratchFiles | undefined;
}

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

const empty: ScratchFiles = new Map();

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
    declared: undefined,
    scratch: empty,
    left: empty,
    commandExit: undefined,
    failedPulls: 0,
    pulledAt: 0,
  };
}

export function start(container: ContainerRun, now: number): void {
  container.state = "running";
  container.startedAt = now;
  container.waitingReason = undefined;
  container.commandExit = undefined;
}

export function terminate(
  container: ContainerRun,
  end: { readonly at: number; readonly code: number; readonly message?: string | undefined },
): void {
  container.state = "terminated";
  container.finishedAt = end.at;
  container.exitCode = end.code;
  container.message = end.message;
  container.waitingReason = undefined;
}

/** Starts a terminated container again. */
export function restart(container: ContainerRun, now: number): void {
  const { startedAt, finishedAt, exitCode, message, scratch } = container;
  container.last = { startedAt, finishedAt, exitCode, message, scratch };
  container.restarts += 1;
  start(container, now);
}
