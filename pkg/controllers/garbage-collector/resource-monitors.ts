import { idleWhile, yieldEvery } from "#base";
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
  /** The resource is not served any more in the version that was watched, but in another one. */
  readonly moved: (from: Handle, to: Handle) => void;
  /** The resource is not served any more in any version. */
  readonly gone: (resource: Handle) => void;
  /** Kinds that were unknown may be known now. */
  readonly discovered: () => void;
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
  /** By group, version and kind, and by group and kind in the preferred version. */
  private kinds: ReadonlyMap<string, Handle> = new Map();
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

  /**
   * The resource of a kind; in another version if that one is not served (any more): an object is
   * the same one in all of them.
   */
  find(apiVersion: string, kind: string): Handle | undefined {
    const group = apiVersion.includes("/") ? apiVersion.split("/")[0]! : "";
    return this.kinds.get(`${apiVersion}/${kind}`) ?? this.kinds.get(groupKind(group, kind));
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
      const isCurrent = isTold && this.discovered;
      const ms = isCurrent ? longestMs : discoveryMs;
      await clock
        .sleep(
          ms,
          either,
          idleWhile(() => isCurrent),
        )
        .catch(() => undefined);
      await clock.sleep(calmMs, signal).catch(() => undefined);
    }
    forget?.();
    for (const { stop } of this.followed.values()) stop();
  }

  private async discover(): Promise<void> {
    const { resources, failures } = await this.context.client.discover();
    this.learnKinds(resources, failures);
    const served = new Set<string>();
    const wanted = new Map<string, DiscoveredResource>();
    for (const resource of resources) {
      const { plural, group, verbs } = resource;
      const usable = ["list", "watch", "delete"].every((verb) => verbs.includes(verb));
      // Events neither have owners nor own objects, and expire by TTL.
      if (!usable || plural === "events") continue;
      served.add(identityOf(resource));
      if (!wanted.has(`${plural}.${group}`)) wanted.set(`${plural}.${group}`, resource);
    }
    const turn = yieldEvery();
    for (const [name, resource] of wanted) {
      await turn();
      const monitor = this.followed.get(name);
      if (monitor === undefined) this.begin(name, resource);
      else if (!served.has(identityOf(monitor.resource)) && !hasFailed(monitor, failures)) {
        this.replace(name, monitor, resource);
      }
    }
    for (const [name, monitor] of this.followed) {
      // A group whose discovery failed may still be served.
      if (wanted.has(name) || hasFailed(monitor, failures)) continue;
      this.end(name, monitor);
      this.observer.gone(monitor.resource);
    }
    this.discovered = true;
    this.observer.discovered();
  }

  private learnKinds(
    resources: readonly DiscoveredResource[],
    failures: ReadonlyMap<string, string>,
  ): void {
    const kinds = new Map<string, Handle>();
    const learn = (resource: Handle) => {
      const { group, version, kind } = resource;
      kinds.set(`${groupVersionOf(group, version)}/${kind}`, resource);
      if (!kinds.has(groupKind(group, kind))) kinds.set(groupKind(group, kind), resource);
    };
    resources.forEach(learn);
    // Group versions whose discovery failed have the kinds that they had.
    for (const resource of this.kinds.values()) {
      if (failures.has(groupVersionOf(resource.group, resource.version))) learn(resource);
    }
    this.kinds = kinds;
  }

  /** Watches the resource in another version; another kind of the same plural is another resource. */
  private replace(name: string, monitor: Monitor, resource: Handle): void {
    const { resource: before } = monitor;
    this.end(name, monitor);
    const isSame = before.kind === resource.kind && before.namespaced === resource.namespaced;
    if (isSame) this.observer.moved(before, resource);
    else this.observer.gone(before);
    this.begin(name, resource);
  }

  private end(name: string, { stop }: Monitor): void {
    this.followed.delete(name);
    stop();
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

/** What a watch is about: another kind or scope at the same path is something else. */
function identityOf({ group, version, plural, kind, namespaced }: Handle): string {
  return JSON.stringify([group, version, plural, kind, namespaced]);
}

function groupKind(group: string, kind: string): string {
  return `${group}//${kind}`;
}

function hasFailed({ resource }: Monitor, failures: ReadonlyMap<string, string>): boolean {
  return failures.has(groupVersionOf(resource.group, resource.version));
}
