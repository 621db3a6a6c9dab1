import { featureGates } from "#api";
import { type Clock, idleWhile, type Random, realClock, type SleepOptions } from "#base";
import {
  type ApiObject,
  type Client,
  EventRecorder,
  type Handle,
  type Informer,
  type Informers,
  type Selection,
  objectKey,
} from "#client";
import { labelsOf, type Node, nodes, type Pod, pods } from "#kinds";
import { resolve } from "#meta";
import type { Instruments } from "#request";
import { Cache } from "./cache/cache.ts";
import { Snapshot } from "./cache/snapshot.ts";
import type { Profile, SchedulerSettings } from "./configuration/profile.ts";
import { EventLatency, watchNodesAndPods, watchOtherKinds } from "./event-handlers.ts";
import { extenderPlugin, Extenders } from "./extenders/extenders.ts";
import type { Plugin } from "./framework/contract.ts";
import { DeviceManager } from "./framework/device-manager.ts";
import { Framework } from "./framework/framework.ts";
import { FrameworkMetrics } from "./framework/framework-metrics.ts";
import type { Filters, PluginHandle, PluginInformers, PodEvent } from "./framework/handle.ts";
import { livePods } from "./framework/live-pods.ts";
import { Nominator } from "./framework/nominator.ts";
import { pluginRegistry } from "./plugins/registry.ts";
import { PodWriter } from "./pod-status.ts";
import { SchedulingQueue } from "./queue/scheduling-queue.ts";
import { SchedulingLoop } from "./schedule-one.ts";
import { NodeSelection } from "./schedule-pod.ts";

/** Dependencies of a scheduler. */
export interface SchedulerContext {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts to stop the scheduler. */
  readonly signal: AbortSignal;
  /** Reports an error that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
  /** Whether a feature gate is enabled; absent = defaults of Kubernetes 1.34. */
  readonly gate?: (name: string) => boolean;
}

const flushBackoffMs = 1_000;
const flushUnschedulableMs = 30_000;
const flushMetricsMs = 1_000;
const noPlugins: readonly Plugin[] = [];

/** Schedules the pods of all profiles until the signal aborts. */
export async function runScheduler(
  context: SchedulerContext,
  settings: SchedulerSettings,
): Promise<void> {
  await new Scheduler(context, settings).run();
}

class Scheduler {
  private readonly cache: Cache;
  private readonly snapshot = new Snapshot();
  private readonly nominator = new Nominator();
  private readonly frameworks = new Map<string, Framework>();
  private readonly recorders = new Map<string, EventRecorder>();
  private readonly extenders: Extenders;
  private readonly writer: PodWriter;
  private readonly queue: SchedulingQueue;
  private readonly informers: WatchedInformers;
  private readonly devices: DeviceManager;

  constructor(
    private readonly context: SchedulerContext,
    private readonly settings: SchedulerSettings,
  ) {
    const { client, clock, instruments } = context;
    this.informers = new WatchedInformers(context.informers);
    this.devices = new DeviceManager({
      client,
      informers: this.informers,
      gate: context.gate ?? featureGates(new Map()),
    });
    const region = resolve("topology.{label}/region", client.domain);
    const zone = resolve("topology.{label}/zone", client.domain);
    const zoneOf = (node: Node) => {
      const labels = labelsOf(node);
      return `${labels[region] ?? ""}:${labels[zone] ?? ""}`;
    };
    this.cache = new Cache(zoneOf);
    this.extenders = new Extenders(settings.extenders, context);
    this.writer = new PodWriter(client, clock, (pod) => this.currentPod(pod));
    for (const profile of settings.profiles) this.addProfile(profile);
    const [first] = this.frameworks.values();
    this.queue = new SchedulingQueue({
      clock,
      instruments,
      backoff: { initialMs: settings.podInitialBackoffMs, maxMs: settings.podMaxBackoffMs },
      less: first!.queueSort,
      pluginsOf: (pod) => this.frameworkOf(pod)?.plugins ?? noPlugins,
      preEnqueuesOf: (pod) => this.frameworkOf(pod)?.preEnqueues ?? noPlugins,
    });
    instruments.beforeRead(() => {
      for (const [type, size] of Object.entries(this.cache.sizes())) {
        instruments.set("scheduler_cache_size", { type }, size);
      }
    });
  }

  async run(): Promise<void> {
    const { signal, random } = this.context;
    const { informers, cache, queue, nominator, snapshot } = this;
    this.informers.of(nodes);
    this.informers.of(pods, livePods);
    await this.informers.untilSynced();
    if (signal.aborted) return;
    const plugins = [...this.frameworks.values()].flatMap((framework) => framework.plugins);
    const registrations = plugins.flatMap(({ events = [] }) => events);
    const resources = registrations.map(({ resource }) => resource);
    const latency = new EventLatency(this.context.instruments, realClock(this.context.clock));
    watchOtherKinds({ informers, queue, latency }, resources, this.context.client.domain);
    this.devices.onChange((change) => queue.moveAll(change));
    watchNodesAndPods({
      informers,
      cache,
      queue,
      nominator,
      latency,
      isResponsible: (pod) => this.frameworkOf(pod) !== undefined,
    });
    const { percentageOfNodesToScore } = this.settings;
    const loop = new SchedulingLoop({
      handle: this.handle(() => this.frameworks.values().next().value!),
      cache,
      snapshot,
      queue,
      selection: new NodeSelection(snapshot, random, percentageOfNodesToScore, this.extenders),
      extenders: this.extenders,
      frameworkOf: (pod) => this.frameworkOf(pod),
    });
    signal.addEventListener("abort", () => queue.close(), { once: true });
    const pause = idleWhile(() => !queue.hasUnschedulable);
    await Promise.all([
      loop.run(),
      this.repeat(flushBackoffMs, async () => {
        queue.flushBackoff();
        await queue.untilBackoff();
      }),
      this.repeat(flushUnschedulableMs, async () => queue.flushUnschedulable(), pause),
      this.flushMetrics(),
      ...[...this.recorders.values()].map((recorder) => recorder.run()),
    ]);
  }

  private addProfile(profile: Profile): void {
    const { schedulerName, plugins, args, percentageOfNodesToScore } = profile;
    const { instruments, clock } = this.context;
    let framework: Framework | undefined = undefined;
    const handle = this.handle(() => framework!);
    const used = new Set(Object.values(plugins.points).flat());
    const made = [...pluginRegistry]
      .filter(([name]) => used.has(name))
      .map(([name, { make }]) => [name, make(handle, args)] as const);
    framework = new Framework({
      ...plugins,
      profileName: schedulerName,
      plugins: new Map(this.extenders.isEmpty ? made : [...made, ["Extender", extenderPlugin]]),
      percentageOfNodesToScore,
      nominator: this.nominator,
      metrics: new FrameworkMetrics(instruments, realClock(clock), schedulerName),
    });
    this.frameworks.set(schedulerName, framework);
    const { random } = this.context;
    this.recorders.set(
      schedulerName,
      new EventRecorder({
        ...this.context,
        controller: schedulerName,
        instance: `${schedulerName}-${random.uuid()}`,
      }),
    );
  }

  private handle(filters: () => Filters): PluginHandle {
    return {
      ...this.context,
      informers: this.informers,
      domain: this.context.client.domain,
      snapshot: this.snapshot,
      nominator: this.nominator,
      devices: this.devices,
      extenders: this.extenders,
      filters,
      recordEvent: (pod, event) => this.recordEvent(pod, event),
      activate: (pod) => this.queue.forceActivate(pod),
      patchStatus: (pod, patch) => this.writer.patchStatus(pod, patch),
      inOrder: (pod, work) => this.writer.inOrder(pod, work),
      currentPod: (pod) => this.currentPod(pod),
    };
  }

  private frameworkOf({ spec }: Pod): Framework | undefined {
    return this.frameworks.get(spec?.schedulerName ?? "");
  }

  private currentPod(pod: ApiObject): Pod | undefined {
    return this.informers.of(pods, livePods).get(objectKey(pod));
  }

  private recordEvent(pod: Pod, { related, ...event }: PodEvent): void {
    const name = (related ?? pod).spec?.schedulerName ?? "";
    const other = related === undefined ? {} : { related: { resource: pods, object: related } };
    this.recorders.get(name)?.record(pods, pod, { ...event, ...other });
  }

  private async flushMetrics(): Promise<void> {
    const { signal } = this.context;
    const clock = realClock(this.context.clock);
    while (!signal.aborted) {
      await clock.sleep(flushMetricsMs, signal, { background: true }).catch(() => undefined);
      for (const { metrics } of this.frameworks.values()) metrics.flush();
    }
  }

  private async repeat(
    everyMs: number,
    work: () => Promise<void>,
    pause: SleepOptions = { background: true },
  ): Promise<void> {
    const { clock, signal } = this.context;
    while (!signal.aborted) {
      await clock.sleep(everyMs, signal, pause).catch(() => undefined);
      if (!signal.aborted) await work();
    }
  }
}

/** Informers of plugins, whose sync the scheduler awaits. */
class WatchedInformers implements PluginInformers {
  private readonly used = new Set<Informer<never>>();

  constructor(private readonly informers: Informers) {}

  of<T extends ApiObject>(resource: Handle<T>, selection?: Selection): Informer<T> {
    const informer = this.informers.of(resource, selection);
    this.used.add(informer as unknown as Informer<never>);
    return informer;
  }

  async untilSynced(): Promise<void> {
    await Promise.all([...this.used].map((informer) => informer.untilSynced()));
  }
}
