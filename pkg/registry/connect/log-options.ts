import { badRequest, invalid, parseSeconds, formatSeconds, type Instant } from "#meta";
import type { Query } from "#request";
import { Path, Problems } from "#schema";

/** Which part of a log is asked for. */
export interface LogOptions {
  readonly container: string;
  readonly flags: readonly string[];
  readonly sinceSeconds: bigint | undefined;
  readonly sinceTime: Instant | undefined;
  readonly tailLines: bigint | undefined;
  readonly limitBytes: bigint | undefined;
  readonly stream: string | undefined;
  /** The certificate of the kubelet is not checked. */
  readonly insecure: boolean;
}

const streams = ["All", "Stderr", "Stdout"];

/** Throws 400 for what is no number or time, and 422 for what makes no sense. */
export function logOptions(
  query: Query,
  { pod, gates }: { readonly pod: string; readonly gates: (name: string) => boolean },
): LogOptions {
  const options: LogOptions = {
    container: query.get("container") ?? "",
    flags: ["follow", "previous", "timestamps"].filter((name) => query.flag(name)),
    sinceSeconds: numberIn(query, "sinceSeconds"),
    sinceTime: timeIn(query, "sinceTime"),
    tailLines: numberIn(query, "tailLines"),
    limitBytes: numberIn(query, "limitBytes"),
    stream: query.get("stream"),
    insecure: query.flag("insecureSkipTLSVerifyBackend") ?? false,
  };
  const problems = new Problems();
  check(options, problems);
  const { stream } = options;
  if (stream !== undefined && !gates("PodLogsQuerySplitStreams")) {
    problems.forbidden(Path.of("stream"), "may not be specified");
  } else if (stream !== undefined && !streams.includes(stream)) {
    problems.notSupported(Path.of("stream"), stream, streams);
  }
  if (!problems.empty) throw invalid({ group: "", kind: "PodLogOptions" }, pod, problems);
  return options;
}

/** How the kubelet is asked for the same. */
export function logQuery(options: LogOptions): readonly (readonly [string, string])[] {
  const { sinceSeconds, sinceTime, tailLines, limitBytes, stream } = options;
  const values = { sinceSeconds, tailLines, limitBytes, stream };
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return [
    ...options.flags.map((flag) => [flag, "true"] as const),
    ...given.map(([name, value]) => [name, String(value)] as const),
    ...(sinceTime === undefined ? [] : [["sinceTime", formatSeconds(sinceTime)] as const]),
  ];
}

function check(options: LogOptions, problems: Problems): void {
  const { tailLines, limitBytes, sinceSeconds, sinceTime } = options;
  const least = (field: string, value: bigint | undefined, minimum: bigint) => {
    if (value === undefined || value >= minimum) return;
    const detail = minimum > 0n ? "must be greater than 0" : "must be greater than or equal to 0";
    problems.invalid(Path.of(field), value, detail);
  };
  least("tailLines", tailLines, 0n);
  least("limitBytes", limitBytes, 1n);
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    const detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    problems.forbidden(Path.root, detail);
  } else least("sinceSeconds", sinceSeconds, 1n);
}

function numberIn(query: Query, name: string): bigint | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw parseFault(text, "invalid syntax");
  const value = BigInt(text.replace(/^\+/, ""));
  if (BigInt.asIntN(64, value) !== value) throw parseFault(text, "value out of range");
  return value;
}

function parseFault(text: string, why: string): Error {
  return badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
}

function timeIn(query: Query, name: string): Instant | undefined {
  const text = query.get(name);
  if (text === undefined || text === "") return undefined;
  try {
    return parseSeconds(text);
  } catch (fault) {
    throw badRequest(fault instanceof Error ? fault.message : String(fault));
  }
}
