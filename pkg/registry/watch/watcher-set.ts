import type { Resource } from "#meta";
import type { Change } from "#storage";
import type { WatcherSet } from "./cache-watcher.ts";
import type { Selection, Trigger } from "../read/selection.ts";

/** The groups that watch keys with one prefix. */
interface Place {
  readonly plain: Set<WatcherSet>;
  /** Groups that want one value of a field, by field: most changes concern few of them. */
  readonly triggered: Map<string, Triggered>;
}

interface Triggered {
  readonly resource: Resource;
  readonly valueOf: Trigger["valueOf"];
  readonly byValue: Map<string, Set<WatcherSet>>;
}

type ValueOf = (triggered: Triggered, entry: NonNullable<Change["entry"]>) => string;

/**
 * Finds the groups that a change may concern without asking each: those of its namespace and those
 * of all namespaces, and among these the ones whose field has the value that the object has or had.
 */
export class WatcherIndex {
  readonly #byId = new Map<string, WatcherSet>();
  readonly #places = new Map<string, Place>();

  get empty(): boolean {
    return this.#byId.size === 0;
  }

  all(): Iterable<WatcherSet> {
    return this.#byId.values();
  }

  /** The group that is there, or a new one, which is not added yet. */
  find(resource: Resource, prefix: string, selection: Selection): WatcherSet {
    const id = `${resource.groupVersion} ${prefix} ${selection.id}`;
    const known = this.#byId.get(id);
    // A kind can be replaced by one of the same name.
    if (known !== undefined && known.resource === resource) return known;
    return { id, resource, prefix, selection, watchers: new Set() };
  }

  add(group: WatcherSet): void {
    this.#byId.set(group.id, group);
    const place = found(this.#places, group.prefix, () => ({
      plain: new Set(),
      triggered: new Map(),
    }));
    const { resource, selection } = group;
    const { trigger } = selection;
    if (trigger === undefined) {
      place.plain.add(group);
      return;
    }
    const { valueOf, value } = trigger;
    const triggered = found(place.triggered, triggerName(group, trigger), () => ({
      resource,
      valueOf,
      byValue: new Map<string, Set<WatcherSet>>(),
    }));
    found(triggered.byValue, value, () => new Set<WatcherSet>()).add(group);
  }

  remove(group: WatcherSet): void {
    if (this.#byId.get(group.id) === group) this.#byId.delete(group.id);
    const place = this.#places.get(group.prefix);
    if (place === undefined) return;
    place.plain.delete(group);
    const { trigger } = group.selection;
    if (trigger !== undefined) {
      const name = triggerName(group, trigger);
      const byValue = place.triggered.get(name)?.byValue;
      const groups = byValue?.get(trigger.value);
      groups?.delete(group);
      if (groups?.size === 0) byValue?.delete(trigger.value);
      if (byValue?.size === 0) place.triggered.delete(name);
    }
    if (place.plain.size + place.triggered.size === 0) this.#places.delete(group.prefix);
  }

  /** Calls `look` with each group that the change may concern, once. */
  concerned(change: Change, valueOf: ValueOf, look: (group: WatcherSet) => void): void {
    const { key } = change;
    // `/pods/` and `/pods/default/`: prefixes end with a slash, and a key has few of those.
    for (let end = key.indexOf("/", 1); end > 0; end = key.indexOf("/", end + 1)) {
      const place = this.#places.get(key.slice(0, end + 1));
      if (place === undefined) continue;
      for (const group of place.plain) look(group);
      for (const triggered of place.triggered.values()) {
        const now = change.entry && valueOf(triggered, change.entry);
        const before = change.previous && valueOf(triggered, change.previous);
        if (now !== undefined) for (const group of triggered.byValue.get(now) ?? []) look(group);
        if (before === undefined || before === now) continue;
        for (const group of triggered.byValue.get(before) ?? []) look(group);
      }
    }
  }
}

/** Versions may read a field of the same name differently. */
function triggerName({ resource }: WatcherSet, { field }: Trigger): string {
  return `${resource.groupVersion} ${field}`;
}

function found<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
