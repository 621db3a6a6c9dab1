/** What a container runtime would know of a container. Times are wall clock in ms. */
export interface ContainerRun {
  state: "waiting" | "running" | "terminated";
  startedAt: number;
  /** Time and exit code of the end, while the state is `terminated`. */
  finishedAt: number;
  exitCode: number;
  /** Starts after the first. */
  restarts: number;
  /** The run before this one. */
  last: ContainerEnd | undefined;
  /** Why the container does not run, in place of the reason of its state. */
  waitingReason: WaitingReason | undefined;
  /** Delay before the next restart after a crash; 0 = it has not crashed lately. */
  backoffMs: number;
  backoffSetAt: number;
  /** Failed pulls of the image, and the time of the last. */
  failedPulls: number;
  pulledAt: number;
}

export interface ContainerEnd {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
}

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

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
    failedPulls: 0,
    pulledAt: 0,
  };
}

export function start(container: ContainerRun, now: number): void {
  container.state = "running";
  container.startedAt = now;
  container.waitingReason = undefined;
}

export function terminate(
  container: ContainerRun,
  end: { readonly at: number; readonly code: number },
): void {
  container.state = "terminated";
  container.finishedAt = end.at;
  container.exitCode = end.code;
  container.waitingReason = undefined;
}

/** Starts a terminated container again. */
export function restart(container: ContainerRun, now: number): void {
  const { startedAt, finishedAt, exitCode } = container;
  container.last = { startedAt, finishedAt, exitCode };
  container.restarts += 1;
  start(container, now);
}
