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
  const random = seededRandom(main.seed);
  const shell = new Shell({
    ...main,
    files,
    unknown: ([program = ""]) => {
      throw new NotSimulated(program);
    },
    now: () => startedAt,
    random: () => random.next(),
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
