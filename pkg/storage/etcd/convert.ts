import type { IEvent, IKeyValue } from "etcd3";
import type { Entry, StoreEvent } from "../backend.ts";

/** 64-bit numbers come as decimal strings; revisions stay below 2^53 by contract. */
export function revisionOf(decimal: string): number {
  return Number(decimal);
}

/** The value is a view into the received message, not a copy. */
export function entryOf(kv: IKeyValue): Entry {
  return {
    key: kv.key.toString("utf8"),
    value: kv.value,
    createRevision: Number(kv.create_revision),
    modRevision: Number(kv.mod_revision),
  };
}

export function eventOf(event: IEvent): StoreEvent {
  // etcd leaves the previous entry out when it is compacted already; the library makes that null.
  const kv = event.prev_kv as IKeyValue | null;
  const previous = kv === null ? undefined : entryOf(kv);
  if (event.type === "Put") return { type: "put", entry: entryOf(event.kv), previous };
  const revision = Number(event.kv.mod_revision);
  return { type: "delete", key: event.kv.key.toString("utf8"), revision, previous };
}

export function revisionOfEvent(event: StoreEvent): number {
  return event.type === "put" ? event.entry.modRevision : event.revision;
}

export function keyOfEvent(event: StoreEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}
