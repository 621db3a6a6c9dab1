import { seededRandom } from "#base";
import { ContainerFiles, type InitialFile } from "./container-files.ts";
import { NotSimulated } from "./not-simulated.ts";
import { Shell, TooMuchWork } from "./shell.ts";

export interface MainCommand {
  /** Program and arguments, with expanded references to the environment. */
  readonly command: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
  readonly host: string;
  /** Files by path. */
  readonly files: Readonly<Record<string, InitialFile>>;
  /** Paths of folders that exist, even if they are empty. */
  readonly folders: readonly string[];
  /** Folders with unknown contents. */
  readonly unknownFolders: readonly string[];
  /** Wall clock in ms. */
  readonly startedAt: number;
  /** Seed of `$RANDOM`, so that repeated runs are equal. */
  readonly seed: string;
}

export interface CommandOutcome {
  /** Time in ms from the start to the exit, and the exit code; Infinity = keeps running. */
  readonly exit: { readonly afterMs: number; readonly code: number };
  /** Output, with the time from the start in ms. */
  readonly output: readonly { readonly afterMs: number; readonly data: Uint8Array }[];
  /** Paths and texts of the files at and below a path after the run. */
  readonly textsAt: (path: string) => readonly (readonly [string, string])[];
}

/** Maximum number of simulated commands, which take a few milliseconds. */
const maxCommands = 2_000;
const maxBytes = 4 << 20;
const runsOn = { afterMs: Infinity, code: 0 };

/**
 * Simulates the command of a container up to a time after its start. Undefined = unknown: it uses unsupported
 * programs, or exceeds the limits without sleeping. A command that sleeps repeatedly keeps running.
 */
export function followCommand(
  main: MainCommand,
  untilMs = Number.MAX_SAFE_INTEGER,
): CommandOutcome | undefined {
  const { startedAt, unknownFolders } = main;
  let afterMs = 0;
  const files = new ContainerFiles(
    main.files,
    () => startedAt + afterMs,
    () => true,
    unknownFolders,
  );
  for (const folder of main.folders) files.makeFolder(folder);
  const shell = shellOf(main, files, {
    unknown: (program) => {
      throw new NotSimulated(program);
    },
    maxCommands,
    maxBytes,
  });
  const output: { afterMs: number; data: Uint8Array }[] = [];
  const write = (_descriptor: 1 | 2, data: Uint8Array) => void output.push({ afterMs, data });
  const textsAt = (path: string) =>
    files
      .tree(path)
      .filter(([, { kind }]) => kind === "file")
      .map(([at, { data }]) => [at, Buffer.from(data).toString()] as const);
  const running = shell.run(main.command, { input: new Uint8Array(), write });
  try {
    for (let step = running.next(); ; step = running.next()) {
      if (step.done === true) return { exit: { afterMs, code: step.value }, output, textsAt };
      afterMs += step.value;
      if (afterMs > untilMs) return { exit: runsOn, output, textsAt };
    }
  } catch (error) {
    const isUnknown =
      error instanceof NotSimulated || (error instanceof TooMuchWork && afterMs === 0);
    if (isUnknown) return undefined;
    if (error instanceof TooMuchWork) return { exit: runsOn, output, textsAt };
    throw error;
  }
}

/** A part of a command that is not simulated. */
export interface NotSimulatedPart {
  /** The program, or a description of the feature. */
  readonly program: string;
  readonly isProgram: boolean;
}

/** What a command uses that is not simulated before it first sleeps; undefined = nothing. */
export function firstNotSimulated(main: MainCommand): NotSimulatedPart | undefined {
  const { files, startedAt, unknownFolders } = main;
  const now = () => startedAt;
  const command = new LiveCommand(main, new ContainerFiles(files, now, () => true, unknownFolders));
  command.advance(0);
  return command.notSimulated;
}

/** Limits of a command that runs along with the clock. */
const liveLimits = { maxCommands: 100_000, maxBytes: 64 << 20 };

/** The command of a running container, which changes the container's files as time passes. */
export class LiveCommand {
  private readonly running: Iterator<number, number>;
  private dueMs = 0;
  private isOver = false;
  private missing: NotSimulatedPart | undefined;

  constructor(
    main: MainCommand,
    readonly files: ContainerFiles,
  ) {
    for (const folder of main.folders) files.makeFolder(folder);
    const unknown = (program: string) => {
      this.missing = { program, isProgram: true };
      throw new NotSimulated(program);
    };
    const shell = shellOf(main, files, { unknown, ...liveLimits });
    this.running = shell.run(main.command, { input: new Uint8Array(), write: () => undefined });
  }

  /** What it has used that is not simulated: a program, or a feature; it does nothing from then on. */
  get notSimulated(): NotSimulatedPart | undefined {
    return this.missing;
  }

  /** Runs what the command does until a time after its start. */
  advance(untilMs: number): void {
    while (!this.isOver && this.dueMs <= untilMs) {
      try {
        const step = this.running.next();
        if (step.done === true) this.isOver = true;
        else this.dueMs += step.value;
      } catch (error) {
        this.isOver = true;
        if (error instanceof TooMuchWork) return;
        if (!(error instanceof NotSimulated)) throw error;
        this.missing ??= { program: error.message, isProgram: false };
      }
    }
  }
}

function shellOf(
  main: MainCommand,
  files: ContainerFiles,
  {
    unknown,
    ...limits
  }: {
    readonly unknown: (program: string) => never;
    readonly maxCommands: number;
    readonly maxBytes: number;
  },
): Shell {
  const random = seededRandom(main.seed);
  return new Shell({
    ...main,
    ...limits,
    files,
    unknown: ([program = ""]) => unknown(program),
    now: () => main.startedAt,
    random: () => random.next(),
  });
}
