import { badRequest, invalid, parseSeconds, formatSeconds, type Instant } from "#meta";
import type { Query } from "#request";
import { Path, Problems } from "#schema";

/** The query of a log request (PodLogOptions). */
export interface LogOptions {
  readonly container: string;
  /** Names of the boolean options that are true. */
  readonly flags: readonly string[];
  readonly sinceSeconds: bigint | undefined;
  readonly sinceTime: Instant | undefined;
  readonly tailLines: bigint | undefined;
  readonly limitBytes: bigint | undefined;
  readonly stream: string | undefined;
  /** insecureSkipTLSVerifyBackend: the kubelet's certificate is not verified. */
  readonly insecure: boolean;
}

const streams = ["All", "Stderr", "Stdout"];

/**
 * Parses and validates the query of a log request.
 *
 * @throws StatusError 400 for malformed numbers and times, 422 for invalid values
 */
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
  validate(options, problems);
  const { stream } = options;
  if (stream !== undefined && !gates("PodLogsQuerySplitStreams")) {
    problems.forbidden(Path.of("stream"), "may not be specified");
  } else if (stream !== undefined && !streams.includes(stream)) {
    problems.notSupportedText(Path.of("stream"), stream, streams);
  }
  if (!problems.empty) throw invalid({ group: "", kind: "PodLogOptions" }, pod, problems);
  return options;
}

/** The options as query parameters of the kubelet's containerLogs endpoint. */
export function logQuery(options: LogOptions): readonly (readonly [string, string])[] {
  const { sinceSeconds, sinceTime, tailLines, limitBytes, stream } = options;
  const values = { sinceSeconds, tailLines, limitBytes, stream };
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return [
    ...options.flags.map((flag) => [flag, "true"] as const),
    ...present.map(([name, value]) => [name, String(value)] as const),
    ...(sinceTime === undefined ? [] : [["sinceTime", formatSeconds(sinceTime)] as const]),
  ];
}

function validate(options: LogOptions, problems: Problems): void {
  const { tailLines, limitBytes, sinceSeconds, sinceTime } = options;
  const requireAtLeast = (field: string, value: bigint | undefined, minimum: bigint) => {
    if (value === undefined || value >= minimum) return;
    const detail = minimum > 0n ? "must be greater than 0" : "must be greater than or equal to 0";
    problems.invalid(Path.of(field), value, detail);
  };
  requireAtLeast("tailLines", tailLines, 0n);
  requireAtLeast("limitBytes", limitBytes, 1n);
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    const detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    // kube-apiserver reports it at a path with an empty name, which Go prints as an empty index.
    problems.forbidden(Path.of("[]"), detail);
  } else requireAtLeast("sinceSeconds", sinceSeconds, 1n);
}

function numberIn(query: Query, name: string): bigint | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw parseFault(text, "invalid syntax");
  const value = BigInt(text.replace(/^\+/, ""));
  if (BigInt.asIntN(64, value) !== value) throw parseFault(text, "value out of range");
  return value;
}

function parseFault(text: string, reason: string): Error {
  return badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${reason}`);
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
