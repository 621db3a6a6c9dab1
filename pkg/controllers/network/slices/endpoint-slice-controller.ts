import {
  type Informer,
  type InformerEvent,
  objectKey,
  RequeueAfter,
  type WorkQueue,
  CoreEventRecorder,
} from "#client";
import {
  endpointSlices,
  type Node,
  nodes as nodeResource,
  type Pod,
  pods as podResource,
  type Service,
  services as serviceResource,
} from "#kinds";
import { isConflict, resolve } from "#meta";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { serviceSelector } from "../services/pod-endpoints.ts";
import { ServicePods } from "../services/service-pods.ts";
import { TriggerTimes } from "../services/trigger-times.ts";
import { ServiceSlices } from "./service-slices.ts";
import { SliceMetrics } from "./slice-metrics.ts";
import { SliceTracker } from "./slice-tracker.ts";
import { SliceWriter } from "./slice-writer.ts";
import { TopologyHints } from "./topology-hints.ts";
import { isReadyNode, zoneRatios } from "./zone-capacities.ts";

export interface EndpointSliceOptions {
  /** Number of Services synced concurrently. */
  readonly serviceEndpointWorkers: number;
  readonly maxEndpointsPerSlice: number;
  /** Batches pod changes: delay of a sync after one. */
  readonly endpointSliceBatchMs: number;
}

/** Minimum delay of a sync after a change of a slice by another client. */
const sliceBatchMs = 1_000;
const retryDelays = { firstMs: 1_000, maxMs: 1_000_000 };

/** Maintains the EndpointSlices of Services with selectors. */
export async function runEndpointSliceController(
  context: ControllerContext,
  options: EndpointSliceOptions,
): Promise<void> {
  await new EndpointSliceController(context, options).run();
}

class EndpointSliceController {
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly services: Informer<Service>;
  private readonly pods: Informer<Pod>;
  private readonly nodes: Informer<Node>;
  private readonly servicePods: ServicePods;
  private readonly tracker: SliceTracker;
  private readonly triggerTimes = new TriggerTimes();
  private readonly hints = new TopologyHints();
  private readonly metrics: SliceMetrics;
  private readonly slices: ServiceSlices;

  constructor(
    private readonly context: ControllerContext,
    private readonly options: EndpointSliceOptions,
  ) {
    const { client, clock, informers, instruments } = context;
    const { domain } = client;
    this.queue = newWorkQueue({ ...context, delays: retryDelays }, "endpoint_slice");
    this.recorder = new CoreEventRecorder(context, "endpoint-slice-controller");
    this.services = informers.of(serviceResource);
    this.pods = informers.of(podResource);
    this.nodes = informers.of(nodeResource);
    this.servicePods = new ServicePods(this.pods, this.services, true);
    this.metrics = new SliceMetrics(instruments);
    const resource = endpointSlices(domain);
    const manager = resolve("endpointslice-controller.{api}", domain);
    const batchMs = Math.max(options.endpointSliceBatchMs, sliceBatchMs);
    const tracker = new SliceTracker({
      slices: informers.of(resource),
      domain,
      clock,
      manager,
      changed: (key) => this.queue.addAfter(key, batchMs),
    });
    this.tracker = tracker;
    const wrote = (operation: string) => this.metrics.wrote(operation);
    this.slices = new ServiceSlices({
      domain,
      nodes: this.nodes,
      writer: new SliceWriter({ client, resource, tracker, wrote, keepsGenerateName: true }),
      hints: this.hints,
      metrics: this.metrics,
      maxEndpoints: options.maxEndpointsPerSlice,
      manager,
      record: (service, event) => this.recorder.record(serviceResource, service, event),
    });
  }

  async run(): Promise<void> {
    const { services, pods, nodes, options } = this;
    const { domain } = this.context.client;
    const slices = this.context.informers.of(endpointSlices(domain));
    services.subscribe(({ object }) => this.queue.add(objectKey(object)));
    pods.subscribe((change) => {
      for (const key of this.servicePods.servicesOf(change)) {
        this.queue.addAfter(key, options.endpointSliceBatchMs);
      }
    });
    await Promise.all([services, pods, nodes, slices].map((each) => each.untilSynced()));
    const zone = resolve("topology.{label}/zone", domain);
    const setRatios = () => {
      const overloaded = this.hints.setRatios(zoneRatios(nodes.all(), domain));
      for (const key of overloaded) this.queue.add(key);
    };
    setRatios();
    nodes.subscribe((change) => {
      if (changesCapacity(change, zone)) setRatios();
    });
    const workers = options.serviceEndpointWorkers;
    await Promise.all([this.queue.run((key) => this.sync(key), { workers }), this.recorder.run()]);
  }

  private async sync(key: string): Promise<void> {
    const service = this.services.get(key);
    if (service === undefined) {
      for (const each of [this.triggerTimes, this.tracker, this.metrics, this.hints]) {
        each.forget(key);
      }
      return;
    }
    const selector = serviceSelector(service);
    if (selector === undefined || service.spec?.type === "ExternalName") return;
    const slices = this.tracker
      .of(key)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (this.tracker.isStale(key, slices)) {
      this.metrics.synced("stale");
      throw new RequeueAfter("EndpointSlice informer cache is out of date");
    }
    const pods = this.servicePods.of(service, selector);
    const triggerTime = this.triggerTimes.next(service, pods);
    try {
      await this.slices.reconcile(service, pods, slices, triggerTime);
      this.metrics.synced("success");
    } catch (error) {
      this.metrics.synced("error");
      if (!isConflict(error)) this.recordFailure(service, error);
      throw error;
    }
  }

  private recordFailure(service: Service, error: unknown): void {
    const what = `Error updating Endpoint Slices for Service ${objectKey(service)}`;
    this.recorder.record(serviceResource, service, {
      type: "Warning",
      reason: "FailedToUpdateEndpointSlices",
      message: `${what}: ${(error as Error).message}`,
    });
  }
}

function changesCapacity(change: InformerEvent<Node>, zone: string): boolean {
  if (change.type !== "updated") return true;
  const { object, before } = change;
  if (isReadyNode(object) !== isReadyNode(before)) return true;
  return object.metadata.labels?.[zone] !== before.metadata.labels?.[zone];
}
