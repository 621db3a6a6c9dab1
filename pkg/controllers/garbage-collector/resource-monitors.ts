import { yieldEvery } from "#base";
import {
  type ApiObject,
  type DiscoveredResource,
  type Handle,
  reflect,
  type ReflectorSink,
} from "#client";
import { groupVersionOf } from "#meta";
import type { ControllerContext } from "../controller-context.ts";

/** Discovery interval where the client does not report changes of what is served. */
const discoveryMs = 30_000;
/** Discovery interval where it does. */
const longestMs = 600_000;
/** Delay after a change of what is served: several follow each other. */
const calmMs = 100;
/** Resources whose changes may change what is served. */
const definitions: ReadonlySet<string> = new Set(["customresourcedefinitions", "apiservices"]);
/** Time after which a monitor that cannot list its resource is not awaited any more. */
const patienceMs = 30_000;

export interface ResourceMonitorObserver {
  /** Receives the objects of this resource. */
  readonly sinkOf: (resource: Handle) => ReflectorSink<ApiObject>;
  /** The resource is served no more. */
  readonly gone: (resource: Handle) => void;
}

interface Monitor {
  readonly resource: Handle;
  readonly since: number;
  readonly stop: () => void;
  synced: boolean;
}

/** Watches the metadata of all resources that can be listed, watched and deleted. */
export class ResourceMonitors {
  private readonly followed = new Map<string, Monitor>();
  private readonly kinds = new Map<string, Handle>();
  private discovered = false;
  /** Triggers discovery. */
  private look: (() => void) | undefined;

  constructor(
    private readonly context: ControllerContext,
    private readonly observer: ResourceMonitorObserver,
  ) {}

  /** Whether discovery has succeeded and all monitors have synced, or failed for long. */
  get isWhole(): boolean {
    const now = this.context.clock.monotonic();
    const all = [...this.followed.values()];
    return this.discovered && all.every(({ synced, since }) => synced || now > since + patienceMs);
  }

  /** The resource of a kind, of whatever version. */
  find(apiVersion: string, kind: string): Handle | undefined {
    return this.kinds.get(`${apiVersion}/${kind}`);
  }

  /** Until the signal aborts. */
  async run(): Promise<void> {
    const { client, signal, clock, report } = this.context;
    const forget = client.onServed?.(() => this.look?.());
    const isTold = forget !== undefined;
    while (!signal.aborted) {
      const waiting = new AbortController();
      this.look = () => waiting.abort();
      await this.discover().catch((error: unknown) =>
        report("Failed to discover resources for garbage collection", error),
      );
      const either = AbortSignal.any([signal, waiting.signal]);
      const ms = isTold && this.discovered ? longestMs : discoveryMs;
      await clock.sleep(ms, either, { background: true }).catch(() => undefined);
      await clock.sleep(calmMs, signal).catch(() => undefined);
    }
    forget?.();
    for (const { stop } of this.followed.values()) stop();
  }

  private async discover(): Promise<void> {
    const { resources, failures } = await this.context.client.discover();
    const wanted = new Map<string, DiscoveredResource>();
    if (failures.size === 0) this.kinds.clear();
    for (const resource of resources) {
      const { group, version, plural, kind, verbs } = resource;
      this.kinds.set(`${groupVersionOf(group, version)}/${kind}`, resource);
      const name = `${plural}.${group}`;
      const usable = ["list", "watch", "delete"].every((verb) => verbs.includes(verb));
      // Events neither have owners nor own objects, and expire by TTL.
      if (usable && plural !== "events" && !wanted.has(name)) wanted.set(name, resource);
    }
    const turn = yieldEvery();
    for (const [name, resource] of wanted) {
      await turn();
      if (!this.followed.has(name)) this.begin(name, resource);
    }
    for (const [name, followed] of this.followed) {
      const { group, version } = followed.resource;
      // A group whose discovery failed may still be served.
      if (wanted.has(name) || failures.has(groupVersionOf(group, version))) continue;
      this.followed.delete(name);
      followed.stop();
      this.observer.gone(followed.resource);
    }
    this.discovered = true;
  }

  private begin(name: string, resource: Handle): void {
    const { signal, clock } = this.context;
    const life = new AbortController();
    const leave = () => life.abort();
    signal.addEventListener("abort", leave, { once: true });
    const stop = () => {
      signal.removeEventListener("abort", leave);
      leave();
    };
    const followed: Monitor = { resource, since: clock.monotonic(), stop, synced: false };
    this.followed.set(name, followed);
    const sink = this.observer.sinkOf(resource);
    void reflect({
      ...this.context,
      resource,
      selection: { metadataOnly: true },
      signal: life.signal,
      sink: {
        replaced: (objects) => {
          followed.synced = true;
          sink.replaced(objects);
        },
        changed: (type, object) => {
          sink.changed(type, object);
          if (definitions.has(resource.plural)) this.look?.();
        },
      },
    });
  }
}
