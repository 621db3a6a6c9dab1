import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import path from "node:path";
import { parseJsonText } from "#base";
import { pathParts } from "#request";
import type { ProxiedRequest } from "#server";
import { describeRequest } from "../testing-kit/request-filter.ts";
import {
  type RecordedRequest,
  type RequestAssertions,
  requestAssertions,
} from "../testing-kit/request-log.ts";

/**
 * A request through the proxy of a recording; `user` is "", because only the upstream authenticates
 * it.
 */
export interface ProxiedRequestEntry extends RecordedRequest {
  readonly method: string;
  /** Time in ms until the response had ended. */
  readonly durationMs: number;
}

/** Last line of an incomplete file. */
interface Incomplete {
  readonly incomplete: string;
}

const fileName = "requests.jsonl";
const maxRequests = 1_000_000;
const maxUserAgentLength = 256;

/** The requests of a recording, one JSON object per line in the order in which they ended. */
export class RequestFile {
  private readonly file: number;
  private readonly startedAt: number;
  private count = 0;

  constructor(directory: string, now: number) {
    this.file = openSync(path.join(directory, fileName), "wx", 0o600);
    this.startedAt = now;
  }

  write(request: ProxiedRequest): void {
    this.count += 1;
    if (this.count > maxRequests + 1) return;
    const isFull = this.count > maxRequests;
    const incomplete = `only the first ${maxRequests} requests were recorded`;
    const line = isFull ? { incomplete } : entryOf(request, this.startedAt);
    writeSync(this.file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.file);
  }
}

/**
 * The query and the path behind a proxy subresource are omitted, because commands and addresses of
 * pods may be secret.
 */
function entryOf(request: ProxiedRequest, startedAt: number): ProxiedRequestEntry {
  const { info, method, status, durationMs, userAgent } = request;
  const parts = pathParts(info.path);
  const logged = `/${parts.slice(0, parts.length - info.rest.length).join("/")}`;
  return {
    time: new Date(request.startedAt).toISOString(),
    atMs: request.startedAt - startedAt,
    durationMs: Math.round(durationMs * 1000) / 1000,
    method,
    path: info.isResource ? logged : info.path,
    ...(status === undefined ? {} : { status }),
    ...describeRequest(info, { user: "", userAgent: userAgent.slice(0, maxUserAgentLength) }),
  };
}

/**
 * Reads the requests through the proxy of a recording, for assertions.
 * @throws errors of the file system, and SyntaxError for a file that `keelson record` did not write
 */
export function recordedRequests(directory: string): RequestAssertions<ProxiedRequestEntry> {
  const text = readFileSync(path.join(directory, fileName), "utf8");
  // The last line has no newline while it is being written.
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  const values = lines
    .filter((line) => line !== "")
    .map((line) => parseJsonText(line) as ProxiedRequestEntry | Incomplete);
  const entries = values.filter((value) => !("incomplete" in value)) as ProxiedRequestEntry[];
  entries.sort((one, other) => one.atMs - other.atMs);
  const last = values.at(-1);
  const why = last !== undefined && "incomplete" in last ? last.incomplete : undefined;
  return requestAssertions(
    () => entries,
    () => why,
  );
}
