import type { Resource } from "#meta";
import type { Change } from "#storage";
import type { WatcherSet } from "./cache-watcher.ts";
import type { Selection, Trigger } from "../read/selection.ts";

/** The WatcherSets of one key prefix. */
interface PrefixEntry {
  /** WatcherSets without a trigger: each change may match them. */
  readonly untriggered: Set<WatcherSet>;
  /** WatcherSets that require one value of a field, by field: a change matches few of them. */
  readonly triggered: Map<string, Triggered>;
}

interface Triggered {
  readonly resource: Resource;
  readonly valueOf: Trigger["valueOf"];
  readonly byValue: Map<string, Set<WatcherSet>>;
}

/** The value of a trigger's field in an entry; undefined if the entry cannot be read. */
type ValueOf = (triggered: Triggered, entry: NonNullable<Change["entry"]>) => string | undefined;

/**
 * Finds the WatcherSets that a change may match without evaluating every selector: those of its
 * namespace or of all namespaces whose trigger field, if any, has the value of the object before or
 * after the change.
 */
export class WatcherIndex {
  readonly #byId = new Map<string, WatcherSet>();
  readonly #byPrefix = new Map<string, PrefixEntry>();

  get empty(): boolean {
    return this.#byId.size === 0;
  }

  all(): Iterable<WatcherSet> {
    return this.#byId.values();
  }

  /** The existing WatcherSet of a selection, or a new one that is not registered yet. */
  find(resource: Resource, prefix: string, selection: Selection): WatcherSet {
    const id = `${resource.groupVersion} ${prefix} ${selection.id}`;
    const known = this.#byId.get(id);
    // A changed CustomResourceDefinition is a new Resource of the same name.
    if (known !== undefined && known.resource === resource) return known;
    return { id, resource, prefix, selection, watchers: new Set() };
  }

  add(watcherSet: WatcherSet): void {
    this.#byId.set(watcherSet.id, watcherSet);
    const entry = getOrCreate(this.#byPrefix, watcherSet.prefix, () => ({
      untriggered: new Set(),
      triggered: new Map(),
    }));
    const { resource, selection } = watcherSet;
    const { trigger } = selection;
    if (trigger === undefined) {
      entry.untriggered.add(watcherSet);
      return;
    }
    const { valueOf, value } = trigger;
    const triggered = getOrCreate(entry.triggered, triggerName(watcherSet, trigger), () => ({
      resource,
      valueOf,
      byValue: new Map<string, Set<WatcherSet>>(),
    }));
    getOrCreate(triggered.byValue, value, () => new Set<WatcherSet>()).add(watcherSet);
  }

  remove(watcherSet: WatcherSet): void {
    if (this.#byId.get(watcherSet.id) === watcherSet) this.#byId.delete(watcherSet.id);
    const entry = this.#byPrefix.get(watcherSet.prefix);
    if (entry === undefined) return;
    entry.untriggered.delete(watcherSet);
    const { trigger } = watcherSet.selection;
    if (trigger !== undefined) {
      const name = triggerName(watcherSet, trigger);
      const byValue = entry.triggered.get(name)?.byValue;
      const watcherSets = byValue?.get(trigger.value);
      watcherSets?.delete(watcherSet);
      if (watcherSets?.size === 0) byValue?.delete(trigger.value);
      if (byValue?.size === 0) entry.triggered.delete(name);
    }
    if (entry.untriggered.size + entry.triggered.size === 0)
      this.#byPrefix.delete(watcherSet.prefix);
  }

  /** Calls `visit` once for each WatcherSet that the change may match. */
  forEachCandidate(
    change: Change,
    valueOf: ValueOf,
    visit: (watcherSet: WatcherSet) => void,
  ): void {
    const { key } = change;
    // The prefixes of `/pods/default/a` are `/pods/` and `/pods/default/`.
    for (let end = key.indexOf("/", 1); end > 0; end = key.indexOf("/", end + 1)) {
      const entry = this.#byPrefix.get(key.slice(0, end + 1));
      if (entry === undefined) continue;
      for (const watcherSet of entry.untriggered) visit(watcherSet);
      for (const triggered of entry.triggered.values()) {
        if (isUnknown(triggered, change, valueOf)) {
          for (const watcherSets of triggered.byValue.values()) watcherSets.forEach(visit);
          continue;
        }
        const now = change.entry && valueOf(triggered, change.entry);
        const before = change.previous && valueOf(triggered, change.previous);
        if (now !== undefined)
          for (const watcherSet of triggered.byValue.get(now) ?? []) visit(watcherSet);
        if (before === undefined || before === now) continue;
        for (const watcherSet of triggered.byValue.get(before) ?? []) visit(watcherSet);
      }
    }
  }
}

/** Whether a change may match any value of the field, as an entry of it cannot be read. */
function isUnknown(triggered: Triggered, { entry, previous }: Change, valueOf: ValueOf): boolean {
  return [entry, previous].some(
    (each) => each !== undefined && valueOf(triggered, each) === undefined,
  );
}

/** Includes the version, as versions may read a field of the same name differently. */
function triggerName({ resource }: WatcherSet, { field }: Trigger): string {
  return `${resource.groupVersion} ${field}`;
}

function getOrCreate<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
