import type { Awaitable, Clock } from "#base";
import type { Instruments } from "#request";
import type { Plugin, SchedulingContext } from "./contract.ts";
import { type ExtensionPoint, titleOf } from "./extension-points.ts";
import type { Status } from "./status.ts";

/** Percentage of attempts whose plugins are timed. */
export const pluginMetricsSamplePercent = 10;
/** Maximum number of plugin durations recorded per flush; excess ones are dropped. */
const maxBuffered = 1_000;

/** A plugin at an extension point, with its number of evaluations. */
export interface CountedPlugin {
  readonly plugin: Plugin;
  evaluations: number;
}

type Observer = (value: number) => void;

/** Durations and evaluations of the plugins of a profile. */
export class FrameworkMetrics {
  private readonly pointObservers = new Map<string, Observer>();
  private readonly pluginObservers = new Map<string, Observer>();
  private buffer: { readonly observer: Observer; readonly seconds: number }[] = [];

  constructor(
    private readonly instruments: Instruments,
    private readonly clock: Clock,
    private readonly profile: string,
  ) {
    instruments.beforeRead(() => this.flush());
  }

  /** Monotonic time in milliseconds. */
  now(): number {
    return this.clock.monotonic();
  }

  /** Counters of plugin evaluations, which the caller increments; published at each scrape. */
  counted(point: ExtensionPoint, plugins: readonly Plugin[]): readonly CountedPlugin[] {
    const { instruments, profile } = this;
    const made = plugins.map((plugin) => ({ plugin, evaluations: 0, published: 0 }));
    const publish = () => {
      for (const each of made) {
        const labels = { plugin: each.plugin.name, extension_point: titleOf(point), profile };
        const amount = each.evaluations - each.published;
        each.published = each.evaluations;
        instruments.add("scheduler_plugin_evaluation_total", labels, amount);
      }
    };
    instruments.beforeRead(publish);
    return made;
  }

  /** Observes the duration of an extension point. */
  point(name: string, status: Status | undefined, began: number): void {
    const code = codeOf(status);
    const key = `${name} ${code}`;
    let observer = this.pointObservers.get(key);
    if (observer === undefined) {
      const labels = { extension_point: name, status: code, profile: this.profile };
      const metric = "scheduler_framework_extension_point_duration_seconds";
      observer = this.instruments.observer(metric, labels);
      this.pointObservers.set(key, observer);
    }
    observer((this.now() - began) / 1000);
  }

  /** Runs a plugin; records its duration in sampled attempts. */
  run<T>(
    { state }: SchedulingContext,
    at: { readonly plugin: string; readonly point: string },
    call: () => Awaitable<T>,
    statusOf: (result: T) => Status | undefined,
  ): Awaitable<T> {
    if (!state.recordsPluginMetrics) return call();
    return this.timed(at, call, statusOf);
  }

  private async timed<T>(
    { plugin, point }: { readonly plugin: string; readonly point: string },
    call: () => Awaitable<T>,
    statusOf: (result: T) => Status | undefined,
  ): Promise<T> {
    const began = this.now();
    const result = await call();
    this.plugin(point, plugin, statusOf(result), began);
    return result;
  }

  /** Records the duration of one plugin. */
  plugin(point: string, plugin: string, status: Status | undefined, began: number): void {
    if (this.buffer.length >= maxBuffered) return;
    const seconds = (this.now() - began) / 1000;
    const code = codeOf(status);
    const key = `${plugin} ${point} ${code}`;
    let observer = this.pluginObservers.get(key);
    if (observer === undefined) {
      const labels = { plugin, extension_point: point, status: code };
      observer = this.instruments.observer("scheduler_plugin_execution_duration_seconds", labels);
      this.pluginObservers.set(key, observer);
    }
    this.buffer.push({ observer, seconds });
  }

  /** Publishes the recorded durations of plugins; called once a second. */
  flush(): void {
    const { buffer } = this;
    this.buffer = [];
    for (const { observer, seconds } of buffer) observer(seconds);
  }
}

function codeOf(status: Status | undefined): string {
  return status?.code ?? "Success";
}
