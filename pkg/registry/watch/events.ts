import { expired, type Resource, type StatusError } from "#meta";
import type { Change, Entry, StoreFault } from "#storage";
import type { ObjectEvent } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { faultError } from "../codec/faults.ts";
import type { Selection } from "../read/selection.ts";
import { isReadable, StoredItem, untransformable } from "../codec/stored.ts";

/**
 * The event of a change for a selection: an object that begins to match is ADDED, one that no longer
 * matches is DELETED. Undefined if it matches neither before nor after. Equal events of a change are one
 * shared object. Throws 410 if the previous state is needed and was compacted, and 500 if a state that is
 * needed cannot be decrypted.
 */
export function selectedEvent(
  registry: RegistryContext,
  { resource, selection }: { readonly resource: Resource; readonly selection: Selection },
  change: Change,
): ObjectEvent | undefined {
  const { entry, previous, revision } = change;
  const itemOf = (stored: Entry): StoredItem => StoredItem.shared(registry, resource, stored);
  const matches = (stored: Entry | undefined): boolean =>
    stored !== undefined && (selection.empty || selection.matches(itemOf(stored)));
  // A watch without a selector needs the previous state only of a deleted object.
  for (const needed of selection.empty ? [entry ?? previous] : [previous, entry]) {
    if (needed !== undefined && !isReadable(needed)) {
      throw untransformable(registry, resource, needed);
    }
  }
  const now = matches(entry);
  const before = isPreviousUnknown(change) ? matchedUnknown(selection, now) : matches(previous);
  if (now) return sharedEvent(resource, change, { type: typeOf(before), item: itemOf(entry!) });
  if (!before) return undefined;
  const known = knownEvent(resource, change, "DELETED");
  if (known !== undefined) return known;
  const item = itemOf(previous!).deletedAt(revision);
  return sharedEvent(resource, change, { type: "DELETED", item });
}

function typeOf(before: boolean): ObjectEvent["type"] {
  return before ? "MODIFIED" : "ADDED";
}

/** Whether the object existed before the change, but its previous state was compacted. */
function isPreviousUnknown({ entry, previous }: Change): boolean {
  if (previous !== undefined) return false;
  return entry === undefined || entry.createRevision !== entry.modRevision;
}

/** True without a selector, which matches every state; otherwise throws 410, so that the client relists. */
function matchedUnknown(selection: Selection, now: boolean): boolean {
  if (selection.empty && now) return true;
  throw expired("too old resource version: the state before a change is gone");
}

/** Linked list of the events of a change, one per resource and type. */
interface SharedEvents {
  readonly resource: Resource;
  readonly event: ObjectEvent;
  readonly more: SharedEvents | undefined;
}

function knownEvent(
  resource: Resource,
  { derived }: Change,
  type: ObjectEvent["type"],
): ObjectEvent | undefined {
  let known = derived as SharedEvents | undefined;
  for (; known !== undefined; known = known.more) {
    if (known.resource === resource && known.event.type === type) return known.event;
  }
  return undefined;
}

function sharedEvent(
  resource: Resource,
  change: Change,
  { type, item }: { readonly type: ObjectEvent["type"]; readonly item: StoredItem },
): ObjectEvent {
  const known = knownEvent(resource, change, type);
  if (known !== undefined) return known;
  const event: ObjectEvent = { type, item, encoded: undefined };
  const more = change.derived as SharedEvents | undefined;
  change.derived = { resource, event, more } satisfies SharedEvents;
  return event;
}

/** The ERROR event's Status for a failure of the store; 410 if `startRevision` was compacted. */
export function watchError(fault: StoreFault, startRevision: bigint): StatusError {
  const { detail } = fault;
  if (detail.kind !== "compacted") return faultError(fault);
  return expired(`too old resource version: ${startRevision} (${detail.oldest})`);
}
