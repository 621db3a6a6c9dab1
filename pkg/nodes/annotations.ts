import type { Pod } from "#kinds";
import { parseDuration } from "#meta";
import { perName, simulationPrefix } from "#routing";

export { simulationPrefix as prefix };

/** Simulation parameters of one pod. */
export interface PodSettings {
  /** Containers never start: the pod stays in ContainerCreating. */
  readonly neverStarts: boolean;
  /** Reason of a failing image pull; undefined = pulls succeed. */
  readonly imagePullError: string | undefined;
  /** Time in ms from admission to the sandbox. */
  readonly startAfterMs: number | undefined;
  /** Time in ms from a container's start until it is ready; Infinity = never. */
  readonly readyAfterMs: number | undefined;
  /** Time in ms that a container takes to exit after SIGTERM. */
  readonly stopAfterMs: number | undefined;
  /**
   * Run time in ms and exit code of a container; undefined = default. Applies to init containers only if the
   * annotation names them.
   */
  exitOf(container: string, isInit: boolean): ContainerExit | undefined;
}

export interface ContainerExit {
  readonly afterMs: number;
  readonly code: number;
}

const crashLoop: ContainerExit = { afterMs: 1_000, code: 1 };
/** Maximum duration in an annotation: one year. */
const maxMs = 366 * 86_400_000;

const noWishes: PodSettings = {
  neverStarts: false,
  imagePullError: undefined,
  startAfterMs: undefined,
  readyAfterMs: undefined,
  stopAfterMs: undefined,
  exitOf: () => undefined,
};

/** Parses the simulation annotations of a pod; ignores invalid values. */
export function podSettingsOf({ metadata }: Pod): PodSettings {
  const { annotations } = metadata;
  if (annotations === undefined || !hasWishes(annotations)) return noWishes;
  const text = (name: string): string | undefined => annotations[`${simulationPrefix}/${name}`];
  const isOn = (name: string) => text(name) === "true";
  const pullError = text("image-pull-error");
  return {
    neverStarts: isOn("never-start"),
    imagePullError: pullError === "" || pullError === "false" ? undefined : pullError,
    startAfterMs: durationMs(text("start-after")),
    readyAfterMs: text("ready") === "false" ? Infinity : durationMs(text("ready-after")),
    stopAfterMs: durationMs(text("stop-after")),
    exitOf: (container, isInit) => {
      const own = (name: string) => {
        const value = text(name);
        return isInit && value?.includes("=") !== true ? undefined : perName(value, container);
      };
      const code = exitCode(own("exit-code"));
      const afterMs = durationMs(own("exit-after"));
      if (code === undefined && afterMs === undefined) {
        return own("crash-loop") === "true" ? crashLoop : undefined;
      }
      return { code: code ?? 0, afterMs: afterMs ?? 0 };
    },
  };
}

/** Text of a simulation annotation. */
export function annotationOf(
  { metadata }: Pick<Pod, "metadata">,
  name: string,
): string | undefined {
  return metadata.annotations?.[`${simulationPrefix}/${name}`];
}

function hasWishes(annotations: Readonly<Record<string, string>>): boolean {
  return Object.keys(annotations).some((name) => name.startsWith(`${simulationPrefix}/`));
}

/** Parses a Go duration to milliseconds; undefined = invalid or longer than a year. */
export function durationMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = Number(parseDuration(text) / 1_000_000n);
    return ms >= 0 ? Math.min(ms, maxMs) : undefined;
  } catch {
    return undefined;
  }
}

function exitCode(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,3}$/.test(text)) return undefined;
  return Math.min(Number(text), 255);
}
