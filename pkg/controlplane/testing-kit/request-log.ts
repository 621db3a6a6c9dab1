import { AssertionError } from "node:assert";
import type { Clock } from "#base";
import type { InterceptedRequest } from "#server";
import {
  type DescribedRequest,
  describeRequest,
  filterText,
  matches,
  type RequestFilter,
} from "./request-filter.ts";

/**
 * A recorded request of a client. Requests of the kit are not recorded, those of controllers in the
 * server's process only with `interceptControllers`.
 */
export interface RecordedRequest extends DescribedRequest {
  /** Time by the cluster's clock, RFC 3339. */
  readonly time: string;
  /** Real time in ms since the server started. */
  readonly atMs: number;
  /** Decoded path, without the query. */
  readonly path: string;
  /** Status code of the response; absent while there is none. */
  readonly status?: number;
  /** Present if the kit failed or delayed the request. */
  readonly fault?: string;
}

export interface HotLoopOptions {
  /** Maximum number of equal requests that are not a hot loop; default 10. */
  readonly most?: number;
  /** Period in ms of real time in which they are counted; default 1,000. */
  readonly withinMs?: number;
}

/** Requests of clients, oldest first, and assertions about them. */
export interface RequestAssertions<R extends RecordedRequest = RecordedRequest> {
  /** The requests that match; without a filter all of them. */
  list(filter?: RequestFilter): readonly R[];
  count(filter?: RequestFilter): number;
  /** @throws AssertionError that lists the requests if more than `most` match */
  expectAtMost(most: number, filter?: RequestFilter): void;
  /** @throws AssertionError that lists the requests if fewer than `least` match */
  expectAtLeast(least: number, filter?: RequestFilter): void;
  /**
   * Requests are equal if client, verb, resource, namespace and name are; watches do not count.
   * @throws AssertionError if more than `most` equal requests came `withinMs`
   */
  expectNoHotLoop(options?: HotLoopOptions): void;
}

/** Requests of the clients of a test server. */
export interface RequestLog extends RequestAssertions {
  /** Removes all recorded requests. */
  clear(): void;
}

/**
 * Maximum number of recorded requests. Once older ones are dropped, assertions fail, because they
 * can no longer count them.
 */
const maxRecorded = 100_000;
/** Maximum number of requests that an assertion message lists. */
const maxListed = 10;

type Entry = { -readonly [K in keyof RecordedRequest]: RecordedRequest[K] };

export interface RecordingLog extends RequestLog {
  /** Adds a request; returns the functions that complete its entry. */
  record(request: InterceptedRequest): {
    readonly described: DescribedRequest;
    readonly answered: (status: number | undefined) => void;
    readonly faulted: (fault: string) => void;
  };
}

/** Creates the request log of a server. `clock` returns its clock, which a reset replaces. */
export function requestLog(clock: () => Clock): RecordingLog {
  let entries: Entry[] = [];
  let dropped = 0;
  const started = performance.now();
  return {
    record: (request) => {
      const entry = entryOf(request, clock(), performance.now() - started);
      entries.push(entry);
      if (entries.length > maxRecorded) {
        const half = maxRecorded / 2;
        entries = entries.slice(half);
        dropped += half;
      }
      return {
        described: entry,
        answered: (status) => {
          if (status !== undefined) entry.status = status;
        },
        faulted: (fault) => {
          entry.fault = fault;
        },
      };
    },
    ...requestAssertions(
      () => entries,
      () => {
        if (dropped === 0) return undefined;
        return `${dropped} requests are no longer recorded: clear() the log between tests`;
      },
    ),
    clear: () => {
      entries = [];
      dropped = 0;
    },
  };
}

/**
 * Returns assertions about `entries`, oldest first. `incomplete` returns the reason if requests are
 * missing, which makes every assertion fail.
 */
export function requestAssertions<R extends RecordedRequest>(
  entries: () => readonly R[],
  incomplete: () => string | undefined,
): RequestAssertions<R> {
  const list = (filter: RequestFilter = {}) => entries().filter((entry) => matches(filter, entry));
  const failIf = (isWrong: boolean, text: () => string) => {
    const message = incomplete() ?? (isWrong ? text() : undefined);
    if (message !== undefined) throw new AssertionError({ message });
  };
  return {
    list,
    count: (filter) => list(filter).length,
    expectAtMost: (most, filter = {}) => {
      const found = list(filter);
      failIf(found.length > most, () => mismatch(`at most ${most}`, filter, found));
    },
    expectAtLeast: (least, filter = {}) => {
      const found = list(filter);
      failIf(found.length < least, () => mismatch(`at least ${least}`, filter, found));
    },
    expectNoHotLoop: ({ most = 10, withinMs = 1_000 } = {}) => {
      const loop = hotLoop(entries(), most, withinMs);
      failIf(
        loop.length > 0,
        () => `a hot loop: ${most + 1} equal requests within ${withinMs} ms${listing(loop)}`,
      );
    },
  };
}

function entryOf({ info, user, header }: InterceptedRequest, clock: Clock, atMs: number): Entry {
  return {
    ...describeRequest(info, { user: user.name, userAgent: header("user-agent") ?? "" }),
    path: info.path,
    time: new Date(clock.now()).toISOString(),
    atMs,
  };
}

/**
 * Returns the first equal requests of which more than `most` came within the period; empty = no hot
 * loop.
 */
function hotLoop(
  entries: readonly RecordedRequest[],
  most: number,
  withinMs: number,
): readonly RecordedRequest[] {
  const recent = new Map<string, RecordedRequest[]>();
  for (const entry of entries) {
    if (entry.verb === "watch") continue;
    const { user, userAgent, verb, path, name } = entry;
    const key = JSON.stringify([user, userAgent, verb, path, name]);
    const equal = recent.get(key) ?? [];
    recent.set(key, equal);
    equal.push(entry);
    while (entry.atMs - equal[0]!.atMs > withinMs) equal.shift();
    if (equal.length > most) return equal;
  }
  return [];
}

function mismatch(
  expected: string,
  filter: RequestFilter,
  found: readonly RecordedRequest[],
): string {
  return `expected ${expected} of ${filterText(filter)}, found ${found.length}${listing(found)}`;
}

function listing(found: readonly RecordedRequest[]): string {
  const lines = found.slice(0, maxListed).map(({ time, verb, path, status, userAgent, fault }) => {
    const result = fault === undefined ? (status ?? "no response yet") : `${status} (${fault})`;
    return `\n  ${time} ${verb} ${path} ${result} by ${userAgent || "a client without User-Agent"}`;
  });
  const more = found.length - lines.length;
  return `${lines.join("")}${more > 0 ? `\n  and ${more} more` : ""}`;
}
