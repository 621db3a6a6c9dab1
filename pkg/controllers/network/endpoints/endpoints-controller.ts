import { type Informer, objectKey, RequeueAfter, type WorkQueue, CoreEventRecorder } from "#client";
import {
  type Endpoints,
  endpoints as endpointsResource,
  type EndpointSubset,
  type Pod,
  pods as podResource,
  type Service,
  services as serviceResource,
} from "#kinds";
import { ignoreNotFound, isConflict, resolve } from "#meta";
import { type ControllerContext, isTerminating, newWorkQueue } from "../../controller-context.ts";
import { isHeadless, serviceSelector } from "../services/pod-endpoints.ts";
import { ServicePods } from "../services/service-pods.ts";
import { TriggerTimes, formatTriggerTime } from "../services/trigger-times.ts";
import { hasSameEntries, withoutLabels } from "../slices/slice-writer.ts";
import {
  countAddresses,
  isSameSubsets,
  maxCapacity,
  subsetsOf,
  truncateSubsets,
} from "./service-subsets.ts";

export interface EndpointsOptions {
  /** Number of Services synced concurrently. */
  readonly endpointWorkers: number;
  /** Batches pod changes: delay of a sync after one. */
  readonly endpointsBatchMs: number;
}

/** Value of the label managed-by. */
const manager = "endpoint-controller";

/** Maintains the Endpoints of Services with selectors. */
export async function runEndpointsController(
  context: ControllerContext,
  options: EndpointsOptions,
): Promise<void> {
  await new EndpointsController(context, options).run();
}

class EndpointsController {
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly services: Informer<Service>;
  private readonly pods: Informer<Pod>;
  private readonly endpoints: Informer<Endpoints>;
  private readonly servicePods: ServicePods;
  private readonly triggerTimes = new TriggerTimes();
  /** resourceVersions that this controller has replaced, by key: a cached one of these is stale. */
  private readonly replacedVersions = new Map<string, string>();
  private readonly names: {
    readonly triggerTime: string;
    readonly overCapacity: string;
    readonly headless: string;
    readonly managedBy: string;
    readonly leader: string;
  };

  constructor(
    private readonly context: ControllerContext,
    private readonly options: EndpointsOptions,
  ) {
    const { client, informers } = context;
    const name = (template: string) => resolve(template, client.domain);
    this.names = {
      triggerTime: name("endpoints.{label}/last-change-trigger-time"),
      overCapacity: name("endpoints.{label}/over-capacity"),
      headless: name("service.{label}/headless"),
      managedBy: name("endpoints.{label}/managed-by"),
      leader: name("control-plane.alpha.{label}/leader"),
    };
    this.queue = newWorkQueue(context, "endpoint");
    this.recorder = new CoreEventRecorder(context, manager);
    this.services = informers.of(serviceResource);
    this.pods = informers.of(podResource);
    this.endpoints = informers.of(endpointsResource);
    // As in kube-controller-manager, a terminal pod is removed when it is no longer ready.
    this.servicePods = new ServicePods(this.pods, this.services, false);
  }

  async run(): Promise<void> {
    const { services, pods, endpoints, options } = this;
    services.subscribe(({ object }) => this.queue.add(objectKey(object)));
    pods.subscribe((change) => {
      for (const key of this.servicePods.servicesOf(change)) {
        this.queue.addAfter(key, options.endpointsBatchMs);
      }
    });
    endpoints.subscribe(({ type, object }) => {
      if (type === "deleted") this.queue.add(objectKey(object));
    });
    await Promise.all([services, pods, endpoints].map((each) => each.untilSynced()));
    // Finds Endpoints of Services deleted while no controller ran. Leader election locks have no Service.
    for (const each of endpoints.all()) {
      const { annotations = {} } = each.metadata;
      if (!Object.hasOwn(annotations, this.names.leader)) this.queue.add(objectKey(each));
    }
    const work = (key: string) => this.sync(key);
    const workers = options.endpointWorkers;
    await Promise.all([this.queue.run(work, { workers }), this.recorder.run()]);
  }

  private async sync(key: string): Promise<void> {
    const service = this.services.get(key);
    if (service === undefined) return this.deleteOf(key);
    const selector = serviceSelector(service);
    if (selector === undefined || service.spec?.type === "ExternalName") return;
    const pods = this.servicePods.of(service, selector);
    const triggerTime = this.triggerTimes.next(service, pods);
    const present = this.endpoints.get(key);
    if (
      present !== undefined &&
      this.replacedVersions.get(key) === present.metadata.resourceVersion
    ) {
      throw new RequeueAfter("Endpoints informer cache is out of date");
    }
    const subsets = subsetsOf(service, pods);
    if (present !== undefined && this.isCurrent(present, subsets, service)) return;
    const metadata = this.metadataOf(service, present, { subsets, triggerTime });
    const desired = { metadata, subsets: truncateSubsets(subsets) };
    await this.write(service, present, desired);
  }

  /** Deletes Endpoints without a Service; reads it live, since a new one may not be cached yet. */
  private async deleteOf(key: string): Promise<void> {
    const [namespace = "", name = ""] = key.split("/");
    this.triggerTimes.forget(key);
    this.replacedVersions.delete(key);
    const { client } = this.context;
    const service = await client.get(serviceResource, { namespace, name }).catch(ignoreNotFound);
    if (service !== undefined) return;
    await client.delete(endpointsResource, { namespace, name }).catch(ignoreNotFound);
  }

  private isCurrent(
    { metadata, subsets = [] }: Endpoints,
    wanted: readonly EndpointSubset[],
    service: Service,
  ): boolean {
    const { labels, annotations = {} } = metadata;
    const { headless, managedBy, overCapacity } = this.names;
    if (labels?.[managedBy] !== manager) return false;
    const own = withoutLabels(labels, [headless, managedBy]);
    const ofService = withoutLabels(service.metadata.labels, [headless, managedBy]);
    if (!hasSameEntries(own, ofService)) return false;
    const isCut = countAddresses(wanted) > maxCapacity;
    if (isCut !== Object.hasOwn(annotations, overCapacity)) return false;
    return isSameSubsets(subsets, truncateSubsets(wanted));
  }

  private metadataOf(
    service: Service,
    present: Endpoints | undefined,
    {
      subsets,
      triggerTime,
    }: { readonly subsets: readonly EndpointSubset[]; readonly triggerTime: number | undefined },
  ) {
    const { triggerTime: timeName, overCapacity, headless, managedBy } = this.names;
    const { namespace = "", name } = service.metadata;
    const labels = {
      ...withoutLabels(service.metadata.labels, [headless]),
      ...(isHeadless(service) ? { [headless]: "" } : {}),
      [managedBy]: manager,
    };
    const annotations = {
      ...withoutLabels(present?.metadata.annotations, [timeName, overCapacity]),
      ...(triggerTime === undefined ? {} : { [timeName]: formatTriggerTime(triggerTime) }),
      ...(countAddresses(subsets) > maxCapacity ? { [overCapacity]: "truncated" } : {}),
    };
    return { ...present?.metadata, namespace, name, labels, annotations };
  }

  private async write(
    service: Service,
    present: Endpoints | undefined,
    desired: Parameters<typeof this.context.client.create<Endpoints>>[1],
  ): Promise<void> {
    const { client } = this.context;
    const key = objectKey(service);
    try {
      if (present === undefined) {
        await client.create(endpointsResource, desired);
        return;
      }
      const { resourceVersion } = present.metadata;
      const written = await client.update(endpointsResource, { ...present, ...desired });
      if (written.metadata.resourceVersion !== resourceVersion) {
        this.replacedVersions.set(key, resourceVersion);
      }
    } catch (error) {
      if (isTerminating(error)) return;
      if (!isConflict(error)) this.recordFailure(service, present, error);
      throw error;
    }
  }

  private recordFailure(service: Service, present: Endpoints | undefined, error: unknown): void {
    const key = objectKey(service);
    const what =
      present === undefined
        ? `Failed to create endpoint for service ${key}`
        : `Failed to update endpoint ${key}`;
    const { namespace = "", name } = service.metadata;
    const object = present ?? { metadata: { namespace, name, uid: "", resourceVersion: "" } };
    this.recorder.record(endpointsResource, object, {
      type: "Warning",
      reason: present === undefined ? "FailedToCreateEndpoint" : "FailedToUpdateEndpoint",
      message: `${what}: ${(error as Error).message}`,
    });
  }
}
