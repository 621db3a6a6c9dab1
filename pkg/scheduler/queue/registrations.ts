import {
  type ClusterEvent,
  type EventRegistration,
  matchesEvent,
} from "../framework/cluster-events.ts";
import type { Plugin } from "../framework/contract.ts";

interface NamedRegistration extends EventRegistration {
  readonly plugin: string;
}

/** Events for which the plugins of a profile have registered. */
export class Registrations {
  private readonly all: readonly NamedRegistration[];
  private readonly byEvent = new Map<string, readonly NamedRegistration[]>();

  constructor(plugins: readonly Plugin[]) {
    this.all = plugins.flatMap(({ name, events = [] }) =>
      events.map((each) => ({ ...each, plugin: name })),
    );
  }

  /** Registrations that match an event; cached per event. */
  matching(event: ClusterEvent): readonly NamedRegistration[] {
    const key = `${event.resource} ${event.action}`;
    const known = this.byEvent.get(key);
    if (known !== undefined) return known;
    const matching = this.all.filter((each) => matchesEvent(each, event));
    this.byEvent.set(key, matching);
    return matching;
  }
}
