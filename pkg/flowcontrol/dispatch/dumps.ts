import type { Clock } from "#base";
import { formatDuration } from "#meta";
import type { PriorityLevel } from "./priority-level.ts";
import type { Queue } from "../queuing/queue.ts";
import type { SeatRequest } from "../queuing/seat-request.ts";
import { formatSeatSeconds } from "../queuing/seat-seconds.ts";

/** Number of queues of a level above which unused ones are not listed. */
const maxUnusedQueues = 10_000;
const minimumWidth = 8;
/** Go's zero time, for a request that has not started. */
const zeroTime = "0001-01-01T00:00:00Z";

type Row = readonly (string | number | boolean)[];
type Levels = readonly PriorityLevel[];

const priorityLevelColumns = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
  "DispatchedRequests",
  "RejectedRequests",
  "TimedoutRequests",
  "CancelledRequests",
];

const queueColumns = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];

/** "FlowDistingsher" is kube-apiserver's spelling. */
const requestColumns = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "ArriveTime",
  "InitialSeats",
  "FinalSeats",
  "AdditionalLatency",
  "StartTime",
];

const detailColumns = [
  "UserName",
  "Verb",
  "APIPath",
  "Namespace",
  "Name",
  "APIVersion",
  "Resource",
  "SubResource",
];

export function priorityLevelTable(levels: Levels): string {
  const rows = levels.map(({ name, isQuiescing, queueSet: { accounts, queues, isIdle } }): Row => {
    const active = queues.nonEmpty().length;
    const { requestsWaiting, requestsExecuting, dispatched } = accounts;
    const { rejected, cancelled } = accounts;
    // Kubernetes counts requests that waited too long as cancelled, and none as timed out.
    const timedOut = 0;
    const now = [name, active, isIdle, isQuiescing, requestsWaiting, requestsExecuting];
    return [...now, dispatched, rejected, timedOut, cancelled];
  });
  return table([priorityLevelColumns, ...rows]);
}

export function queueTable(levels: Levels): string {
  return table([queueColumns, ...levels.flatMap(queueRows)]);
}

/** Waiting and executing requests. The queue index is -1 for requests that were not queued. */
export function requestTable(levels: Levels, clock: Clock, includeDetails: boolean): string {
  const rows = levels.flatMap(({ name, queueSet }) => {
    const row = (request: SeatRequest, queue: number, index: number): Row => {
      const own = [name, ...requestRow(request, queue, index, clock)];
      return includeDetails ? [...own, ...detailRow(request)] : own;
    };
    return [
      ...queueSet.queues
        .all()
        .flatMap(({ index: queue, waiting, executing }) => [
          ...[...waiting].map((request, index) => row(request, queue, index)),
          ...[...executing].map((request) => row(request, queue, -1)),
        ]),
      ...[...queueSet.queueless].map((request) => row(request, -1, -1)),
    ];
  });
  return table([includeDetails ? [...requestColumns, ...detailColumns] : requestColumns, ...rows]);
}

function queueRows({ name, queueSet: { queues } }: PriorityLevel): readonly Row[] {
  const known = queues.all();
  if (queues.count > maxUnusedQueues) return known.map((queue) => queueRow(name, queue));
  const byIndex = new Map(known.map((queue) => [queue.index, queue]));
  const unused = Array.from({ length: queues.count }, (_none, index) => index)
    .filter((index) => !byIndex.has(index))
    .map((index) => ({ index, row: unusedQueueRow(name, index) }));
  const used = known.map((queue) => ({ index: queue.index, row: queueRow(name, queue) }));
  return [...used, ...unused].sort((a, b) => a.index - b.index).map(({ row }) => row);
}

function queueRow(name: string, queue: Queue<SeatRequest>): Row {
  const { index, waiting, executing, seatsInUse, nextDispatchR, waitingWork } = queue;
  const requests = [...waiting];
  const initial = requests.reduce((sum, { request }) => sum + request.estimate.initialSeats, 0);
  const most = requests.reduce((sum, { seats }) => sum + seats, 0);
  const counts = [name, index, waiting.length, executing.length, seatsInUse];
  return [
    ...counts,
    formatSeatSeconds(nextDispatchR),
    initial,
    most,
    formatSeatSeconds(waitingWork),
  ];
}

function unusedQueueRow(name: string, index: number): Row {
  return [name, index, 0, 0, 0, formatSeatSeconds(0), 0, 0, formatSeatSeconds(0)];
}

function requestRow(request: SeatRequest, queue: number, index: number, clock: Clock): Row {
  const { flowSchema, flowDistinguisher, estimate } = request.request;
  const { initialSeats } = estimate;
  const nanoseconds = BigInt(Math.round(request.additionalLatency * 1e6));
  return [
    flowSchema,
    queue,
    index,
    flowDistinguisher,
    formatTime(request.arrivedAt, clock),
    initialSeats,
    request.finalSeats,
    formatDuration(nanoseconds),
    request.phase === "waiting" ? zeroTime : formatTime(request.startedAt, clock),
  ];
}

function detailRow({ request: { userName, info } }: SeatRequest): Row {
  const { verb, path, namespace, name, group, version, resource, subresource } = info;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return [userName, verb, path, namespace, name, apiVersion, resource, subresource];
}

/** A monotonic time in ms as RFC 3339 in UTC, with microseconds and no trailing zeros. */
function formatTime(at: number, clock: Clock): string {
  const micros = Math.round(clock.nowMicros() - (clock.monotonic() - at) * 1000);
  const seconds = Math.floor(micros / 1e6);
  const fraction = String(micros - seconds * 1e6)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const whole = new Date(seconds * 1000).toISOString().slice(0, -5);
  return fraction === "" ? `${whole}Z` : `${whole}.${fraction}Z`;
}

/** Columns as wide as their widest cell, at least eight characters, as Go's tabwriter formats them. */
function table(rows: readonly Row[]): string {
  const cells = rows.map((row) =>
    row.map((cell, index) => oneLine(cell) + (index < row.length - 1 ? "," : "")),
  );
  const columns = cells[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_none, index) =>
    cells.reduce((width, row) => Math.max(width, [...(row[index] ?? "")].length + 1), minimumWidth),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, index) => (index < row.length - 1 ? pad(cell, widths[index] ?? 0) : cell))
      .join(""),
  );
  return `${lines.join("\n")}\n`;
}

/** Replaces control characters: user names and paths must not start a new row or cell. */
function oneLine(cell: string | number | boolean): string {
  return String(cell).replace(/[\p{Cc}\u2028\u2029]/gu, "\ufffd");
}

function pad(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - [...cell].length));
}
