import { plannedEnd, yieldEvery } from "#base";
import {
  type ApiObject,
  type DiscoveredResource,
  type Handle,
  reflect,
  type ReflectorSink,
} from "#client";
import { groupVersionOf } from "#meta";
import type { ControllerContext } from "../controller-context.ts";
import { DiscoveryLoop } from "../discovery-loop.ts";

/** Resources whose changes may change the served resources. */
const discoverySources: ReadonlySet<string> = new Set(["customresourcedefinitions", "apiservices"]);
/** Time after which a monitor that cannot list its resource no longer delays deletions. */
const syncTimeoutMs = 30_000;

export interface ResourceMonitorObserver {
  /** Receives the objects of this resource. */
  readonly sinkOf: (resource: Handle) => ReflectorSink<ApiObject>;
  /** The watched version of the resource is no longer served, but another one is. */
  readonly moved: (from: Handle, to: Handle) => void;
  /** The resource is no longer served in any version. */
  readonly gone: (resource: Handle) => void;
  /** Discovery finished: kinds that were unknown may now resolve. */
  readonly discovered: () => void;
}

interface Monitor {
  readonly resource: Handle;
  readonly since: number;
  readonly stop: () => void;
  synced: boolean;
}

/** Runs a metadata-only reflector for every resource that supports list, watch and delete. */
export class ResourceMonitors {
  private readonly monitors = new Map<string, Monitor>();
  /** By group, version and kind. */
  private kinds: ReadonlyMap<string, Handle> = new Map();
  private discovered = false;
  private readonly discovery: DiscoveryLoop;

  constructor(
    private readonly context: ControllerContext,
    private readonly observer: ResourceMonitorObserver,
  ) {
    const discover = () => this.discover();
    this.discovery = new DiscoveryLoop(context, { purpose: "garbage collection", discover });
  }

  /** Whether discovery succeeded and every monitor has synced or has exceeded `syncTimeoutMs`. */
  get isSynced(): boolean {
    const now = this.context.clock.monotonic();
    const all = [...this.monitors.values()];
    return (
      this.discovered && all.every(({ synced, since }) => synced || now > since + syncTimeoutMs)
    );
  }

  /** The resource of a kind; undefined if it is not served in this version. */
  resourceOf(apiVersion: string, kind: string): Handle | undefined {
    return this.kinds.get(`${apiVersion}/${kind}`);
  }

  /** Discovers resources and keeps their monitors running until the signal aborts. */
  async run(): Promise<void> {
    await this.discovery.run();
    for (const { stop } of this.monitors.values()) stop();
  }

  private async discover(): Promise<void> {
    const { resources, failures } = await this.context.client.discover();
    this.updateKinds(resources, failures);
    const served = new Set<string>();
    const wanted = new Map<string, DiscoveredResource>();
    for (const resource of resources) {
      const { plural, group, verbs } = resource;
      const usable = ["list", "watch", "delete"].every((verb) => verbs.includes(verb));
      // Events neither have nor are owners, and expire by TTL. kube-controller-manager ignores them, too.
      if (!usable || plural === "events") continue;
      served.add(identityOf(resource));
      if (!wanted.has(`${plural}.${group}`)) wanted.set(`${plural}.${group}`, resource);
    }
    const turn = yieldEvery();
    for (const [name, resource] of wanted) {
      await turn();
      const monitor = this.monitors.get(name);
      if (monitor === undefined) this.start(name, resource);
      else if (!served.has(identityOf(monitor.resource)) && !hasFailed(monitor, failures)) {
        this.replace(name, monitor, resource);
      }
    }
    for (const [name, monitor] of this.monitors) {
      // A group whose discovery failed may still be served.
      if (wanted.has(name) || hasFailed(monitor, failures)) continue;
      this.end(name, monitor);
      this.observer.gone(monitor.resource);
    }
    this.discovered = true;
    this.observer.discovered();
  }

  private updateKinds(
    resources: readonly DiscoveredResource[],
    failures: ReadonlyMap<string, string>,
  ): void {
    const kinds = new Map<string, Handle>();
    const learn = (resource: Handle) => {
      const { group, version, kind } = resource;
      kinds.set(`${groupVersionOf(group, version)}/${kind}`, resource);
    };
    resources.forEach(learn);
    // A group version whose discovery failed keeps its known kinds.
    for (const resource of this.kinds.values()) {
      if (failures.has(groupVersionOf(resource.group, resource.version))) learn(resource);
    }
    this.kinds = kinds;
  }

  /** Restarts the monitor in another version, or for another kind that now has this plural. */
  private replace(name: string, monitor: Monitor, resource: Handle): void {
    const { resource: before } = monitor;
    this.end(name, monitor);
    const isSame = before.kind === resource.kind && before.namespaced === resource.namespaced;
    if (isSame) this.observer.moved(before, resource);
    else this.observer.gone(before);
    this.start(name, resource);
  }

  private end(name: string, { stop }: Monitor): void {
    this.monitors.delete(name);
    stop();
  }

  private start(name: string, resource: Handle): void {
    const { signal, clock } = this.context;
    const life = new AbortController();
    const leave = () => life.abort(plannedEnd);
    signal.addEventListener("abort", leave, { once: true });
    const stop = () => {
      signal.removeEventListener("abort", leave);
      leave();
    };
    const monitor: Monitor = { resource, since: clock.monotonic(), stop, synced: false };
    this.monitors.set(name, monitor);
    const sink = this.observer.sinkOf(resource);
    void reflect({
      ...this.context,
      resource,
      selection: { metadataOnly: true },
      signal: life.signal,
      sink: {
        replaced: (objects) => {
          monitor.synced = true;
          sink.replaced(objects);
        },
        changed: (type, object) => {
          sink.changed(type, object);
          if (discoverySources.has(resource.plural)) this.discovery.trigger();
        },
      },
    });
  }
}

/** Identity of a monitored resource: a recreated CRD may have another kind or scope. */
function identityOf({ group, version, plural, kind, namespaced }: Handle): string {
  return JSON.stringify([group, version, plural, kind, namespaced]);
}

function hasFailed({ resource }: Monitor, failures: ReadonlyMap<string, string>): boolean {
  return failures.has(groupVersionOf(resource.group, resource.version));
}
