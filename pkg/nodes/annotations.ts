import type { Pod } from "#kinds";
import { parseDuration } from "#meta";

/** Prefix of annotations and labels of simulated nodes and their pods. */
export const prefix = "simulated.keelson.dev";

/** How the simulation of one pod differs from that of others. */
export interface PodWishes {
  /** Containers never start: the pod stays in ContainerCreating. */
  readonly neverStarts: boolean;
  /** Reason of a failing image pull; undefined = images are there. */
  readonly imagePullError: string | undefined;
  /** Time from admission to the sandbox, in ms. */
  readonly startAfterMs: number | undefined;
  /** Time from a container's start until it is ready, in ms; Infinity = never. */
  readonly readyAfterMs: number | undefined;
  /** Time that a container takes to exit after SIGTERM, in ms. */
  readonly stopAfterMs: number | undefined;
  /**
   * How long a container runs, in ms, and its exit code; undefined = as others do. Init containers
   * follow annotations that name them only.
   */
  exitOf(container: string, isInit: boolean): ContainerExit | undefined;
}

export interface ContainerExit {
  readonly afterMs: number;
  readonly code: number;
}

const crashLoop: ContainerExit = { afterMs: 1_000, code: 1 };
/** Longest duration of an annotation: a year. */
const longestMs = 366 * 86_400_000;

const noWishes: PodWishes = {
  neverStarts: false,
  imagePullError: undefined,
  startAfterMs: undefined,
  readyAfterMs: undefined,
  stopAfterMs: undefined,
  exitOf: () => undefined,
};

/** What the annotations of a pod ask for. Values that make no sense count as absent. */
export function wishesOf({ metadata }: Pod): PodWishes {
  const { annotations } = metadata;
  if (annotations === undefined || !hasWishes(annotations)) return noWishes;
  const text = (name: string): string | undefined => annotations[`${prefix}/${name}`];
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

/** The text of an annotation of simulated nodes. */
export function annotationOf(
  { metadata }: Pick<Pod, "metadata">,
  name: string,
): string | undefined {
  return metadata.annotations?.[`${prefix}/${name}`];
}

function hasWishes(annotations: Readonly<Record<string, string>>): boolean {
  return Object.keys(annotations).some((name) => name.startsWith(`${prefix}/`));
}

/** `5` for all containers or ports, or `app=5,proxy=0`; undefined for a name that is not there. */
export function perName(text: string | undefined, wanted: string): string | undefined {
  if (text === undefined || !text.includes("=")) return text;
  for (const pair of text.split(",")) {
    const [name = "", value = ""] = pair.split("=");
    if (name.trim() === wanted) return value.trim();
  }
  return undefined;
}

/** Milliseconds of a Go duration of at most a year; undefined for another text. */
export function durationMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = Number(parseDuration(text) / 1_000_000n);
    return ms >= 0 ? Math.min(ms, longestMs) : undefined;
  } catch {
    return undefined;
  }
}

function exitCode(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,3}$/.test(text)) return undefined;
  return Math.min(Number(text), 255);
}
