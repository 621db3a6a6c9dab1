import { expired, type Resource, type StatusError } from "#meta";
import type { Change, Entry, StoreFault } from "#storage";
import type { ObjectEvent } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { faultError } from "../codec/faults.ts";
import type { Selection } from "../read/selection.ts";
import { isReadable, StoredItem } from "../codec/stored.ts";

/**
 * A change as a selection sees it: what comes into it is ADDED, what leaves it is DELETED. The same
 * event of the same change is one object for all. Throws 410 if the state before is forgotten and
 * matters.
 */
export function selectedEvent(
  registry: RegistryContext,
  { resource, selection }: { readonly resource: Resource; readonly selection: Selection },
  change: Change,
): ObjectEvent | undefined {
  const { entry, previous, revision } = change;
  const itemOf = (stored: Entry): StoredItem => StoredItem.shared(registry, resource, stored);
  const matches = (stored: Entry | undefined): boolean =>
    stored !== undefined &&
    isReadable(stored) &&
    (selection.empty || selection.matches(itemOf(stored)));
  const now = matches(entry);
  const before = isUnknown(change) ? beforeUnknown(selection, now) : matches(previous);
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

/** There was a state before, but the store has forgotten it. */
function isUnknown({ entry, previous }: Change): boolean {
  if (previous !== undefined) return false;
  return entry === undefined || entry.createRevision !== entry.modRevision;
}

/** Without a selector an existing object is known to have matched before; else the client relists. */
function beforeUnknown(selection: Selection, now: boolean): boolean {
  if (selection.empty && now) return true;
  throw expired("too old resource version: the state before a change is gone");
}

/** The events of a change, each made once. */
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

/** Why a watch ends whose store fails it. */
export function endOf(fault: StoreFault, asked: bigint): StatusError {
  const { detail } = fault;
  if (detail.kind !== "compacted") return faultError(fault);
  return expired(`too old resource version: ${asked} (${detail.oldest})`);
}
