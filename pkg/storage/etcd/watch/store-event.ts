import type { StoreEvent } from "../../backend.ts";

export function revisionOfEvent(event: StoreEvent): number {
  return event.type === "put" ? event.entry.modRevision : event.revision;
}

export function keyOfEvent(event: StoreEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}
