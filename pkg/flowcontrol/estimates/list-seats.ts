import type { Query, RequestInfo } from "#request";

/** Size of a collection, of one namespace or of all, in the watch cache. */
export interface CollectionSize {
  readonly objects: number;
  /** Sum of the stored sizes in bytes. */
  readonly bytes: number;
}

interface ListRequest {
  readonly info: RequestInfo;
  readonly query: Query;
}

const objectsPerSeat = 100;
const bytesPerSeat = 100_000;
/** Cap of the size: a list is encoded in chunks, and never in memory completely. */
const maxBytes = 1_000_000;

/**
 * Seats of a list, at least 1: one per 100 examined objects or, if `isSizeBased` and more, one per
 * 100 kB of response. The former models time on the event loop, which evaluating selectors takes as
 * well as encoding; the latter memory, and the encoding of large objects.
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
  const sent = Math.min((bytes / objects) * limit, maxBytes);
  return Math.max(1, seats, Math.ceil(sent / bytesPerSeat));
}

/** Maximum number of objects in the response. */
function effectiveLimit({ info, query }: ListRequest, objects: number): number {
  const limit = Number(query.get("limit") ?? 0);
  // Watches, and lists at resourceVersion "0", ignore the limit.
  const ignoresLimit = info.verb === "watch" || query.get("resourceVersion") === "0";
  return !ignoresLimit && limit > 0 ? Math.min(limit, objects) : objects;
}

/**
 * Number of objects that the list examines: one page of the namespace, or all of it if a selector may
 * skip objects. A past version is reconstructed from later changes or read from the store, which
 * doubles the work.
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
