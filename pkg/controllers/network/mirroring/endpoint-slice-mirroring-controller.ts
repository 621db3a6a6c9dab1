import { realClock } from "#base";
import { type Informer, objectKey, RequeueAfter, type WorkQueue, CoreEventRecorder } from "#client";
import {
  type Endpoints,
  endpoints as endpointsResource,
  endpointSlices,
  type Service,
  services as serviceResource,
} from "#kinds";
import { resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { serviceSelector } from "../services/pod-endpoints.ts";
import { SliceTracker } from "../slices/slice-tracker.ts";
import { SliceWriter, withoutLabels } from "../slices/slice-writer.ts";
import { mirrorEndpoints } from "./mirrored-slices.ts";
import { MirroringMetrics } from "./mirroring-metrics.ts";

export interface MirroringOptions {
  /** Number of Endpoints synced concurrently. */
  readonly mirroringWorkers: number;
  readonly mirroringMaxPerSubset: number;
  /** Batches changes of slices: delay of a sync after one. */
  readonly mirroringBatchMs: number;
}

/** Mirrors Endpoints of Services without selectors to EndpointSlices. */
export async function runEndpointSliceMirroring(
  context: ControllerContext,
  options: MirroringOptions,
): Promise<void> {
  await new EndpointSliceMirroring(context, options).run();
}

class EndpointSliceMirroring {
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly services: Informer<Service>;
  private readonly endpoints: Informer<Endpoints>;
  private readonly tracker: SliceTracker;
  private readonly writer: SliceWriter;
  private readonly metrics: MirroringMetrics;
  private readonly names: {
    readonly manager: string;
    readonly serviceName: string;
    readonly managedBy: string;
    readonly skipMirror: string;
    readonly leader: string;
    readonly triggerTime: string;
    readonly lastApplied: string;
  };

  constructor(
    private readonly context: ControllerContext,
    private readonly options: MirroringOptions,
  ) {
    const { client, clock, informers, instruments } = context;
    const { domain } = client;
    const name = (template: string) => resolve(template, domain);
    this.names = {
      manager: name("endpointslicemirroring-controller.{api}"),
      serviceName: name("{label}/service-name"),
      managedBy: name("endpointslice.{label}/managed-by"),
      skipMirror: name("endpointslice.{label}/skip-mirror"),
      leader: name("control-plane.alpha.{label}/leader"),
      triggerTime: name("endpoints.{label}/last-change-trigger-time"),
      lastApplied: name("kubectl.{label}/last-applied-configuration"),
    };
    const delays = { firstMs: 1_000, maxMs: 100_000 };
    this.queue = newWorkQueue({ ...context, delays }, "endpoint_slice_mirroring");
    this.recorder = new CoreEventRecorder(context, "endpoint-slice-mirroring-controller");
    this.services = informers.of(serviceResource);
    this.endpoints = informers.of(endpointsResource);
    this.metrics = new MirroringMetrics(instruments);
    const resource = endpointSlices(domain);
    this.tracker = new SliceTracker({
      slices: informers.of(resource),
      domain,
      clock,
      manager: this.names.manager,
      changed: (key) => this.queue.addAfter(key, options.mirroringBatchMs),
    });
    const wrote = (operation: string) => this.metrics.wrote(operation);
    this.writer = new SliceWriter({
      client,
      resource,
      tracker: this.tracker,
      wrote,
      keepsGenerateName: false,
    });
  }

  async run(): Promise<void> {
    const { endpoints, services, context, options } = this;
    const slices = context.informers.of(endpointSlices(context.client.domain));
    endpoints.subscribe((change) => {
      const { type, object } = change;
      const isMirrored = this.shouldMirror(object);
      if (isMirrored || (type === "updated" && this.shouldMirror(change.before))) {
        this.queue.add(objectKey(object));
      }
    });
    services.subscribe((change) => {
      const { type, object } = change;
      const hasSelector = serviceSelector(object) !== undefined;
      const hadSelector =
        type === "updated" ? serviceSelector(change.before) !== undefined : undefined;
      const isChanged = hadSelector === undefined ? !hasSelector : hadSelector !== hasSelector;
      if (isChanged) this.queue.add(objectKey(object));
    });
    await Promise.all([endpoints, services, slices].map((each) => each.untilSynced()));
    const clock = realClock(context.clock);
    const work = async (key: string): Promise<void> => {
      const began = clock.monotonic();
      await this.sync(key).finally(() => this.metrics.synced((clock.monotonic() - began) / 1000));
    };
    const workers = options.mirroringWorkers;
    await Promise.all([this.queue.run(work, { workers }), this.recorder.run()]);
  }

  /** Whether to mirror Endpoints: not leader election locks, and not those with label `skip-mirror`. */
  private shouldMirror({ metadata: { labels = {}, annotations = {} } }: Endpoints): boolean {
    return (
      labels[this.names.skipMirror] !== "true" && !Object.hasOwn(annotations, this.names.leader)
    );
  }

  private async sync(key: string): Promise<void> {
    const endpoints = this.endpoints.get(key);
    const service = this.services.get(key);
    const slices = this.tracker.of(key);
    const isMirrored =
      endpoints !== undefined &&
      service !== undefined &&
      this.shouldMirror(endpoints) &&
      serviceSelector(service) === undefined;
    if (!isMirrored) {
      this.tracker.forget(key);
      this.metrics.forget(key);
      for (const slice of slices) await this.writer.delete(slice);
      return;
    }
    if (this.tracker.isStale(key, slices)) {
      throw new RequeueAfter("EndpointSlice informer cache is out of date");
    }
    const { managedBy, manager, serviceName, triggerTime, lastApplied } = this.names;
    const annotations = withoutLabels(endpoints.metadata.annotations, [triggerTime, lastApplied]);
    const mirrored = mirrorEndpoints(endpoints, slices, {
      maxPerSubset: this.options.mirroringMaxPerSubset,
      serviceNameLabel: serviceName,
      managedByLabel: managedBy,
      manager,
      annotations,
    });
    this.recordSkipped(endpoints, mirrored.counts.skipped, mirrored.invalid);
    const sliceCount = slices.length + mirrored.create.length - mirrored.delete.length;
    const figures = { endpoints: mirrored.endpoints, slices: sliceCount };
    this.metrics.mirrored(key, mirrored.counts, figures);
    const owner = { object: endpoints, resource: endpointsResource };
    await this.writer.write(owner, mirrored, () => annotations);
  }

  private recordSkipped(endpoints: Endpoints, skipped: number, invalid: number): void {
    const warn = (reason: string, message: string) =>
      this.recorder.record(endpointsResource, endpoints, { type: "Warning", reason, message });
    if (invalid > 0) {
      const what = "invalid IP addresses when mirroring to EndpointSlices";
      warn("InvalidIPAddress", `Skipped ${invalid} ${what}`);
    }
    if (skipped <= invalid) return;
    const most = this.options.mirroringMaxPerSubset;
    warn(
      "TooManyAddressesToMirror",
      `A max of ${most} addresses can be mirrored to EndpointSlices per Endpoints subset. ` +
        `${skipped} addresses were skipped`,
    );
  }
}
