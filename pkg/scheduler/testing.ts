/** A test cluster with a complete scheduler, except for bindings; objects are changed one at a time. */
import { featureGates } from "#api";
import { type Random, systemClock } from "#base";
import { type ApiObject, type Handle, type InformerEvent, objectKey } from "#client";
import { type Pod, pods } from "#kinds";
import { kubernetes } from "#meta";
import { type Instruments, noInstruments } from "#request";
import { Cache } from "./cache/cache.ts";
import { Snapshot } from "./cache/snapshot.ts";
import { defaultSchedulerSettings } from "./configuration/defaults.ts";
import { EventLatency, watchNodesAndPods, watchOtherKinds } from "./event-handlers.ts";
import type { QueuedPod, SchedulingContext } from "./framework/contract.ts";
import { CycleState } from "./framework/cycle-state.ts";
import { DeviceManager } from "./framework/device-manager.ts";
import { addPluginStatus, newDiagnosis } from "./framework/fit-error.ts";
import { Framework } from "./framework/framework.ts";
import { FrameworkMetrics } from "./framework/framework-metrics.ts";
import type { PluginHandle } from "./framework/handle.ts";
import { Nominator } from "./framework/nominator.ts";
import { podInfoOf } from "./framework/pod-info.ts";
import { SchedulingQueue } from "./queue/scheduling-queue.ts";
import { pluginRegistry } from "./plugins/registry.ts";

/** An informer that synchronously shows the test's objects. */
class StoredObjects {
  private readonly objects = new Map<string, ApiObject>();
  private readonly handlers: ((event: InformerEvent<ApiObject>) => void)[] = [];
  private readonly indexes = new Map<string, (object: ApiObject) => readonly string[]>();

  subscribe(handler: (event: InformerEvent<ApiObject>) => void): () => void {
    this.handlers.push(handler);
    return () => undefined;
  }

  addIndex(name: string, valuesOf: (object: ApiObject) => readonly string[]): void {
    this.indexes.set(name, valuesOf);
  }

  indexed(index: string, value: string): readonly ApiObject[] {
    return [...this.all()].filter((object) => this.indexes.get(index)?.(object).includes(value));
  }

  all(): Iterable<ApiObject> {
    return this.objects.values();
  }

  get(key: string): ApiObject | undefined {
    return this.objects.get(key);
  }

  set(object: ApiObject): void {
    const key = objectKey(object);
    const before = this.objects.get(key);
    this.objects.set(key, object);
    this.tell(
      before === undefined ? { type: "added", object } : { type: "updated", object, before },
    );
  }

  delete(key: string): void {
    const object = this.objects.get(key);
    if (object !== undefined && this.objects.delete(key)) this.tell({ type: "deleted", object });
  }

  private tell(event: InformerEvent<ApiObject>): void {
    for (const handler of this.handlers) handler(event);
  }
}

/** Result of an attempt: feasible nodes, and plugins that rejected the pod. */
interface Attempt {
  readonly nodes: readonly string[];
  readonly rejecting: ReadonlySet<string>;
  readonly pending: ReadonlySet<string>;
}

export class ClusterModel {
  readonly framework: Framework;
  private readonly queue: SchedulingQueue;
  private readonly stores = new Map<string, StoredObjects>();
  private readonly snapshot = new Snapshot();
  private readonly cache = new Cache(() => "");
  private readonly sizes = new Map<string, number>();
  private readonly refreshers: (() => void | Promise<void>)[] = [];
  private readonly failed: Pod[] = [];
  private version = 0;

  constructor(private readonly random: Random) {
    const [profile] = defaultSchedulerSettings.profiles;
    const { plugins, args, schedulerName } = profile!;
    const instruments: Instruments = {
      ...noInstruments,
      set: (metric, { queue = "" }, value) => {
        if (metric === "scheduler_pending_pods") this.sizes.set(queue, value);
      },
      beforeRead: (refresh) => void this.refreshers.push(refresh),
    };
    const nominator = new Nominator();
    const handle = this.handle(nominator);
    const made = [...pluginRegistry].map(([name, { make }]) => [name, make(handle, args)] as const);
    this.framework = new Framework({
      ...plugins,
      profileName: schedulerName,
      plugins: new Map(made),
      percentageOfNodesToScore: undefined,
      nominator,
      metrics: new FrameworkMetrics(noInstruments, systemClock, schedulerName),
    });
    this.queue = new SchedulingQueue({
      clock: systemClock,
      instruments,
      backoff: { initialMs: 1_000, maxMs: 10_000 },
      less: this.framework.queueSort,
      pluginsOf: () => this.framework.plugins,
      preEnqueuesOf: () => this.framework.preEnqueues,
    });
    const { informers, devices, domain } = handle;
    const { cache, queue } = this;
    const latency = new EventLatency(noInstruments, systemClock);
    const registrations = this.framework.plugins.flatMap(({ events = [] }) => events);
    const resources = registrations.map(({ resource }) => resource);
    watchOtherKinds({ informers, queue, latency }, resources, domain);
    devices.onChange((change) => queue.moveAll(change));
    const isResponsible = () => true;
    watchNodesAndPods({ informers, cache, queue, nominator, latency, isResponsible });
  }

  /** Creates or updates an object. */
  set<T extends ApiObject>(resource: Handle<T>, object: T): void {
    const metadata = { ...object.metadata, resourceVersion: String(++this.version) };
    this.store(resource).set({ ...object, metadata });
  }

  delete(resource: Handle, key: string): void {
    this.store(resource).delete(key);
  }

  all<T extends ApiObject>(resource: Handle<T>): readonly T[] {
    return [...this.store(resource).all()] as unknown as readonly T[];
  }

  /** Attempts all active pods of the queue. Yields those that fit on a node. */
  async *attempts(): AsyncGenerator<{ readonly pod: Pod; readonly attempt: Attempt }> {
    for (const pod of this.failed.splice(0)) this.queue.add(pod);
    while (this.isAwake()) {
      const queued = (await this.queue.pop())!;
      const current = this.store(pods).get(objectKey(queued.info.pod)) as Pod | undefined;
      if (current === undefined) this.queue.done(queued.info.pod);
      else {
        const attempt = await this.attempt(current);
        yield { pod: current, attempt };
        this.putBack(queued, attempt);
      }
    }
  }

  /** Result of an attempt without state of earlier attempts. */
  async attempt(pod: Pod): Promise<Attempt> {
    this.cache.updateSnapshot(this.snapshot);
    const { nodes } = this.snapshot;
    const context: SchedulingContext = {
      state: new CycleState(),
      pod,
      podInfo: podInfoOf(pod),
      rest: () => undefined,
    };
    const diagnosis = newDiagnosis();
    const { status, nodeNames, narrowing } = await this.framework.preFilter(context, nodes);
    for (const name of narrowing) diagnosis.unschedulablePlugins.add(name);
    const fitting: string[] = [];
    if (status !== undefined) addPluginStatus(diagnosis, status);
    else {
      for (const node of nodes) {
        if (nodeNames?.has(node.name) === false) continue;
        const rejection = this.framework.filter(context, node);
        if (rejection === undefined) fitting.push(node.name);
        else addPluginStatus(diagnosis, rejection);
      }
    }
    const { unschedulablePlugins: rejecting, pendingPlugins: pending } = diagnosis;
    return { nodes: fitting, rejecting, pending };
  }

  private putBack(queued: QueuedPod, { nodes, rejecting, pending }: Attempt): void {
    const { pod } = queued.info;
    if (nodes.length > 0) return this.queue.done(pod);
    // A failure by error is retried after its backoff regardless of events.
    if (rejecting.size + pending.size === 0) {
      this.failed.push(pod);
      return this.queue.done(pod);
    }
    queued.unschedulablePlugins = rejecting;
    queued.pendingPlugins = pending;
    this.queue.addUnschedulable(queued);
  }

  private isAwake(): boolean {
    for (const refresh of this.refreshers) void refresh();
    return (this.sizes.get("active") ?? 0) + (this.sizes.get("backoff") ?? 0) > 0;
  }

  private store({ group, plural }: Handle): StoredObjects {
    const key = `${group}/${plural}`;
    const known = this.stores.get(key);
    if (known !== undefined) return known;
    const made = new StoredObjects();
    this.stores.set(key, made);
    return made;
  }

  private handle(nominator: Nominator): PluginHandle {
    const informers = { of: (resource: Handle) => this.store(resource) };
    const client = { domain: kubernetes };
    const gate = featureGates(new Map());
    const parts = { client, informers, gate } as unknown as ConstructorParameters<
      typeof DeviceManager
    >[0];
    return {
      ...parts,
      domain: kubernetes,
      clock: systemClock,
      random: this.random,
      instruments: noInstruments,
      snapshot: this.snapshot,
      nominator,
      devices: new DeviceManager(parts),
      signal: new AbortController().signal,
      filters: () => this.framework,
    } as unknown as PluginHandle;
  }
}
