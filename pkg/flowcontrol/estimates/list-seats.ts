import type { Query, RequestInfo } from "#request";

/** Objects of a collection, of one namespace or of all, as the watch cache has them. */
export interface CollectionSize {
  readonly objects: number;
  /** Stored size in bytes, all objects together. */
  readonly bytes: number;
}

interface ListRequest {
  readonly info: RequestInfo;
  readonly query: Query;
}

const objectsPerSeat = 100;
const bytesPerSeat = 100_000;
/** Bytes that count at most: a list is encoded in pieces, and is never in memory as a whole. */
const mostBytes = 1_000_000;

/**
 * Seats of a list, at least 1: one for 100 objects that it looks at and, if `isSizeBased`, one for
 * 100 kB that it sends, whichever is more. The first is the time on the event loop, which selectors
 * take as well as encoding; the second is memory, and the work of large objects.
 */
export function listSeats(
  size: CollectionSize,
  request: ListRequest,
  isSizeBased: boolean,
): number {
  const { objects, bytes } = size;
  const limit = effectiveLimit(request, objects);
  const seats = Math.ceil(objectsExamined(request, objects, limit) / objectsPerSeat);
  if (!isSizeBased) return Math.max(1, seats);
  const sent = Math.min((bytes / objects) * limit, mostBytes);
  return Math.max(1, seats, Math.ceil(sent / bytesPerSeat));
}

/** Objects that the list returns at most. */
function effectiveLimit({ info, query }: ListRequest, objects: number): number {
  const limit = Number(query.get("limit") ?? 0);
  // Without a continue token, "any version" and a watch return the whole collection.
  const isWhole = info.verb === "watch" || query.get("resourceVersion") === "0";
  return !isWhole && limit > 0 ? Math.min(limit, objects) : objects;
}

/**
 * Objects that the list looks at: those of the namespace, as the keys are in order of namespaces,
 * and of those only a page, unless a selector may skip objects. A past version is made from the
 * changes since, or read from the store, which doubles the work.
 */
function objectsExamined({ query }: ListRequest, objects: number, limit: number): number {
  const isSelective = Boolean(query.get("labelSelector")) || Boolean(query.get("fieldSelector"));
  const examined = isSelective ? objects : limit;
  return isPastVersion(query) ? examined + limit : examined;
}

function isPastVersion(query: Query): boolean {
  const version = query.get("resourceVersion") ?? "";
  if (version === "" || version === "0") return false;
  const match = query.get("resourceVersionMatch") ?? "";
  return match === "Exact" || (match === "" && Number(query.get("limit") ?? 0) > 0);
}
