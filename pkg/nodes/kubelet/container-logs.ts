import { type ContainerStateTerminated, type ContainerStatus, type Pod, statusesOf } from "#kinds";
import { annotationOf, durationMs } from "../annotations.ts";
import type { CommandOutcome } from "../shell/command-run.ts";

/** A part of a log, or the reason why there is none. */
export type LogResult = LogPart | { readonly refusal: string };

export interface LogPart {
  readonly text: Buffer;
  /** Whether the container runs: lines may follow. */
  readonly isRunning: boolean;
  /** Number of lines so far. */
  readonly count: number;
  /** Start time of the container. */
  readonly startedAt: number;
}

interface LogLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** Maximum number of lines of a log: the newest ones. */
const maxLines = 10_000;

export interface LogRequest {
  readonly query: URLSearchParams;
  /** Wall clock in ms. */
  readonly now: number;
  /** Text from the ConfigMap in the pod's annotation. */
  readonly configured?: string | undefined;
  /** Output of the container's command; absent = unknown. */
  readonly output?: CommandOutcome["output"] | undefined;
}

/** Log of a container, limited by the query: from annotations, its command's output, or generated. */
export function containerLog(pod: Pod, container: string, request: LogRequest): LogResult {
  const { query } = request;
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
  const log = logOf(pod, { container, run, request });
  const startedAt = startOf(run);
  return { text: cut(log.lines, request), isRunning, count: log.count, startedAt };
}

/** Lines added since the log had `count` lines; undefined = the container was restarted. */
export function newLines(
  pod: Pod,
  container: string,
  { last, request }: { readonly last: LogPart; readonly request: LogRequest },
): LogPart | undefined {
  const found = statusesOf(pod).find(({ name }) => name === container);
  const run = found && runOf(found, false);
  if (run === undefined || startOf(run) !== last.startedAt) return undefined;
  const isRunning = found?.state?.running !== undefined;
  const isTold = annotationOf(pod, "log-every") !== undefined || request.output !== undefined;
  const isStill = isRunning && !isTold;
  if (isStill) return { ...last, text: Buffer.alloc(0), isRunning };
  const { lines, count } = logOf(pod, { container, run, request, after: last.count });
  const added = Math.max(0, Math.min(count - last.count, lines.length));
  const isTimed = request.query.get("timestamps") === "true";
  const text = printed(lines.slice(lines.length - added), isTimed);
  return { ...last, text, count, isRunning };
}

type Run = Partial<Pick<ContainerStateTerminated, "startedAt" | "finishedAt" | "exitCode">>;

function runOf({ state, lastState }: ContainerStatus, isPrevious: boolean): Run | undefined {
  if (isPrevious) return lastState?.terminated;
  return state?.running ?? state?.terminated ?? lastState?.terminated;
}

const startOf = ({ startedAt }: Run) => Date.parse(startedAt ?? "") || 0;

interface LogInput {
  readonly container: string;
  readonly run: Run;
  readonly request: LogRequest;
  /** Number of lines to skip. */
  readonly after?: number;
}

/**
 * Lines of a run, limited to the newest. With the annotation `log-every` one line of the text is written per
 * interval, cyclically; otherwise all at the start.
 */
function logOf(pod: Pod, { container, run, request, after = 0 }: LogInput) {
  const startedAt = startOf(run);
  const given = annotationOf(pod, "log") ?? request.configured;
  const { namespace = "", name } = pod.metadata;
  const text =
    given ?? `simulated container ${container} of pod ${namespace}/${name} started; no image runs`;
  const texts = text.replace(/\n$/, "").split("\n");
  const until = Date.parse(run.finishedAt ?? "") || request.now;
  if (given === undefined && request.output !== undefined) {
    const lines = linesOf(request.output, startedAt).filter(({ at }) => at <= until);
    return { lines: lines.slice(-maxLines), count: lines.length };
  }
  const everyMs = durationMs(annotationOf(pod, "log-every"));
  if (everyMs !== undefined && everyMs > 0) {
    const count = Math.max(0, Math.floor((until - startedAt) / everyMs)) + 1;
    const first = Math.min(count, Math.max(after, count - maxLines));
    const lines = Array.from({ length: count - first }, (_, index): LogLine => {
      const at = first + index;
      return { at: startedAt + at * everyMs, text: texts[at % texts.length]! };
    });
    return { lines, count };
  }
  const end =
    given !== undefined || run.exitCode === undefined
      ? []
      : [{ at: until, text: `exit code ${run.exitCode}` }];
  const lines = [...texts.map((line) => ({ at: startedAt, text: line })), ...end];
  return { lines: lines.slice(-maxLines), count: lines.length };
}

function linesOf(output: CommandOutcome["output"], startedAt: number): readonly LogLine[] {
  const lines: LogLine[] = [];
  let open: LogLine | undefined;
  for (const { afterMs, data } of output) {
    const at = startedAt + afterMs;
    const [first = "", ...rest] = Buffer.from(data).toString().split("\n");
    open = { at: open?.at ?? at, text: (open?.text ?? "") + first };
    for (const text of rest) {
      lines.push(open);
      open = { at, text };
    }
    if (open.text === "") open = undefined;
  }
  return open === undefined ? lines : [...lines, open];
}

function cut(lines: readonly LogLine[], { query, now }: LogRequest): Buffer {
  const tail = numberOf(query, "tailLines");
  const seconds = numberOf(query, "sinceSeconds");
  const since =
    seconds === undefined ? Date.parse(query.get("sinceTime") ?? "") : now - seconds * 1000;
  const young = lines.filter(({ at }) => !(at < since));
  const kept = tail === undefined ? young : young.slice(Math.max(0, young.length - tail));
  return withinLimit(printed(kept, query.get("timestamps") === "true"), query);
}

function printed(lines: readonly LogLine[], isTimed: boolean): Buffer {
  const texts = lines.map(({ at, text }) =>
    isTimed ? `${new Date(at).toISOString()} ${text}\n` : `${text}\n`,
  );
  return Buffer.from(texts.join(""));
}

/** Truncates a text to `limitBytes` of the query, of which `written` bytes are used. */
export function withinLimit(text: Buffer, query: URLSearchParams, written = 0): Buffer {
  const limit = numberOf(query, "limitBytes") ?? Infinity;
  return text.subarray(0, Math.max(0, Math.min(text.length, limit - written)));
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null || !/^\d+$/.test(text) ? undefined : Number(text);
}
