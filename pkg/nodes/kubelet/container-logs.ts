import { type ContainerStateTerminated, type ContainerStatus, type Pod, statusesOf } from "#kinds";
import { annotationOf } from "../annotations.ts";

/** A log, or why there is none. */
export type LogResult =
  | { readonly text: string; readonly isRunning: boolean }
  | { readonly refusal: string };

interface LogLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** The log of a container, cut as the query asks: a text of the pod's annotation, or a made-up one. */
export function containerLog(
  pod: Pod,
  container: string,
  { query, now }: { readonly query: URLSearchParams; readonly now: number },
): LogResult {
  const found = statusesOf(pod).find(({ name }) => name === container);
  const where = `container "${container}" in pod "${pod.metadata.name}"`;
  if (found === undefined) return { refusal: `${where} is not available` };
  const isPrevious = query.get("previous") === "true";
  const run = runOf(found, isPrevious);
  if (run === undefined && isPrevious) {
    return { refusal: `previous terminated ${where} not found` };
  }
  if (run === undefined) {
    const reason = found.state?.waiting?.reason ?? "unknown";
    return { refusal: `${where} is waiting to start: ${reason}` };
  }
  const isRunning = !isPrevious && found.state?.running !== undefined;
  return { text: cut(linesOf(pod, container, run), query, now), isRunning };
}

type Run = Partial<Pick<ContainerStateTerminated, "startedAt" | "finishedAt" | "exitCode">>;

function runOf({ state, lastState }: ContainerStatus, isPrevious: boolean): Run | undefined {
  if (isPrevious) return lastState?.terminated;
  return state?.running ?? state?.terminated ?? lastState?.terminated;
}

function linesOf(pod: Pod, container: string, run: Run): readonly LogLine[] {
  const startedAt = Date.parse(run.startedAt ?? "") || 0;
  const given = annotationOf(pod, "log");
  const { namespace = "", name } = pod.metadata;
  const text =
    given ?? `simulated container ${container} of pod ${namespace}/${name} started; no image runs`;
  const lines = text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => ({ at: startedAt, text: line }));
  if (given !== undefined || run.exitCode === undefined) return lines;
  const finishedAt = Date.parse(run.finishedAt ?? "") || startedAt;
  return [...lines, { at: finishedAt, text: `exit code ${run.exitCode}` }];
}

function cut(lines: readonly LogLine[], query: URLSearchParams, now: number): string {
  const tail = numberOf(query, "tailLines");
  const seconds = numberOf(query, "sinceSeconds");
  const since =
    seconds === undefined ? Date.parse(query.get("sinceTime") ?? "") : now - seconds * 1000;
  const young = lines.filter(({ at }) => !(at < since));
  const kept = tail === undefined ? young : young.slice(Math.max(0, young.length - tail));
  const isTimed = query.get("timestamps") === "true";
  const printed = kept.map(({ at, text }) => {
    return isTimed ? `${new Date(at).toISOString()} ${text}\n` : `${text}\n`;
  });
  const bytes = Buffer.from(printed.join(""));
  return bytes.subarray(0, numberOf(query, "limitBytes") ?? bytes.length).toString();
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null || !/^\d+$/.test(text) ? undefined : Number(text);
}
