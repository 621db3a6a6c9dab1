import { deepEqual } from "#base";
import { type Client, type Handle, type Informer, objectKey } from "#client";
import { ClaimFault, claimKeysOf, claimsOfPod, isReservedFor } from "#dynamic-resource-allocation";
import {
  type AllocatedDevice,
  type ContainerStatus,
  type Node,
  type Pod,
  type PodStatus,
  type ResourceClaim,
  resourceClaims,
} from "#kinds";
import { groupVersionOf, ignoreNotFound } from "#meta";
import { timeText } from "../identifiers.ts";
import type { KubeletEvents } from "../events/kubelet-events.ts";
import type { NodesContext, NodesSettings } from "../settings.ts";
import { deviceDriver, deviceHealth } from "./device-annotations.ts";

export interface PodDevicesOptions {
  readonly context: NodesContext;
  readonly events: KubeletEvents;
  readonly settings: NodesSettings;
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  /** Pods that are bound to a node. */
  readonly podsOf: (node: string) => readonly Pod[];
  /** Called with the pods whose claims or devices have changed. */
  readonly onChange: (pods: Iterable<Pod>) => void;
}

const byClaim = "resource-claims";

/** Prepares the ResourceClaims of pods before their containers start, like kubelet and DRA driver. */
export class PodDevices {
  private readonly client: Client;
  private readonly handle: Handle<ResourceClaim>;
  private claims: Informer<ResourceClaim> | undefined;
  /** UIDs of pods whose claims are prepared. */
  private readonly prepared = new Set<string>();
  /** Last error of preparing the claims of a pod, by its UID. */
  private readonly failures = new Map<string, string>();

  constructor(private readonly options: PodDevicesOptions) {
    const { context, pods } = options;
    this.client = context.storageClient;
    this.handle = resourceClaims(this.client.domain);
    pods.addIndex(byClaim, claimKeysOf);
  }

  start(): void {
    const { nodes, pods, onChange, settings } = this.options;
    pods.subscribe(({ type, object }) => {
      if (type !== "deleted") return;
      this.prepared.delete(object.metadata.uid);
      this.failures.delete(object.metadata.uid);
    });
    nodes.subscribe((event) => {
      if (!settings.reportsDeviceHealth || event.type !== "updated") return;
      const { before, object } = event;
      if (deepEqual(before.metadata.annotations, object.metadata.annotations)) return;
      onChange(this.options.podsOf(object.metadata.name).filter(hasClaims));
    });
  }

  /** Whether the containers of the pod may start: its claims are allocated and reserved for it. */
  async prepare(pod: Pod): Promise<boolean> {
    const { uid, deletionTimestamp } = pod.metadata;
    if (!hasClaims(pod) || this.prepared.has(uid)) return true;
    // A terminating pod does not start.
    if (deletionTimestamp !== undefined) return false;
    const claims = await this.informer();
    try {
      const found = claimsOfPod(pod, (key) => claims.get(key));
      for (const claim of found.values()) checkReserved(claim, pod);
      for (const claim of new Set(found.values())) await this.publish(claim, pod);
    } catch (error) {
      if (!(error instanceof ClaimFault)) throw error;
      this.fail(pod, error.message);
      return false;
    }
    this.prepared.add(uid);
    this.failures.delete(uid);
    return true;
  }

  /** Adds the health of allocated devices to a pod's status. */
  withHealth<T extends PodStatus>(pod: Pod, status: T): T {
    const { containerStatuses } = status;
    const isReported = this.options.settings.reportsDeviceHealth && hasClaims(pod);
    if (!isReported || containerStatuses === undefined) return status;
    const node = this.options.nodes.get(pod.spec?.nodeName ?? "");
    const { claims } = this;
    if (node === undefined || claims === undefined || !this.prepared.has(pod.metadata.uid)) {
      return status;
    }
    const found = preparedClaims(pod, claims);
    const own = (container: ContainerStatus) => ({
      ...container,
      ...healthOf(pod, container.name, { node, claims: found }),
    });
    return { ...status, containerStatuses: containerStatuses.map(own) };
  }

  private fail(pod: Pod, why: string): void {
    const { uid } = pod.metadata;
    if (this.failures.get(uid) === why) return;
    this.failures.set(uid, why);
    const message = `Failed to prepare dynamic resources: ${why}`;
    const reason = "FailedPrepareDynamicResources";
    this.options.events.recordPod(pod, { type: "Warning", reason, message });
  }

  /** Writes `status.devices` of the claim: devices of the simulated driver are ready. */
  private async publish(claim: ResourceClaim, pod: Pod): Promise<void> {
    const own = devicesOf(claim).filter(
      ({ driver, pool }) => driver === deviceDriver && pool === pod.spec?.nodeName,
    );
    const known = new Set((claim.status?.devices ?? []).map(({ device }) => device));
    if (own.every(({ device }) => known.has(device))) return;
    const { namespace = "", name, uid } = claim.metadata;
    const lastTransitionTime = timeText(this.options.context.clock.now());
    const ready = {
      type: "Ready",
      status: "True",
      reason: "Prepared",
      message: "simulated device",
    };
    const devices = own.map(({ driver, pool, device, shareID }) => ({
      driver,
      pool,
      device,
      ...(shareID === undefined ? {} : { shareID }),
      conditions: [{ ...ready, lastTransitionTime }],
    }));
    const body = {
      apiVersion: groupVersionOf(this.handle.group, this.handle.version),
      kind: this.handle.kind,
      metadata: { namespace, name, uid },
      status: { devices },
    };
    const at = { namespace, name, subresource: "status" };
    const patch = { type: "apply", fieldManager: deviceDriver, force: true, body } as const;
    await this.client.patch(this.handle, at, patch).catch(ignoreNotFound);
  }

  /** The informer of claims; started by the first pod with a claim. */
  private async informer(): Promise<Informer<ResourceClaim>> {
    if (this.claims === undefined) {
      const { context, pods, onChange } = this.options;
      this.claims = context.informers.of(this.handle);
      this.claims.subscribe(({ object }) => onChange(pods.indexed(byClaim, objectKey(object))));
    }
    await this.claims.untilSynced();
    return this.claims;
  }
}

function hasClaims({ spec }: Pod): boolean {
  return (spec?.resourceClaims ?? []).length > 0;
}

function devicesOf({ status }: ResourceClaim): readonly AllocatedDevice[] {
  return status?.allocation?.devices?.results ?? [];
}

function checkReserved(claim: ResourceClaim, pod: Pod): void {
  const { namespace = "", name, uid } = pod.metadata;
  if (claim.status?.allocation !== undefined && isReservedFor(claim, pod)) return;
  const what = `ResourceClaim ${claim.metadata.name} (${claim.metadata.uid})`;
  throw new ClaimFault(`pod ${name} (${uid}) is not allowed to use ${what} in ${namespace}`);
}

/** Claims by their names in the pod; none if one is missing. */
function preparedClaims(
  pod: Pod,
  claims: Informer<ResourceClaim>,
): ReadonlyMap<string, ResourceClaim> {
  try {
    return claimsOfPod(pod, (key) => claims.get(key));
  } catch (error) {
    if (error instanceof ClaimFault) return new Map();
    throw error;
  }
}

/** Health of the devices of a container's claims and requests. */
function healthOf(
  { spec }: Pod,
  name: string,
  { node, claims }: { readonly node: Node; readonly claims: ReadonlyMap<string, ResourceClaim> },
): Pick<ContainerStatus, "allocatedResourcesStatus"> {
  const container = spec?.containers?.find((each) => each.name === name);
  const allocatedResourcesStatus = (container?.resources?.claims ?? []).flatMap((used) => {
    const claim = claims.get(used.name);
    if (claim === undefined) return [];
    const suffix = used.request === undefined ? "" : `/${used.request}`;
    const resources = devicesOf(claim)
      .filter(({ driver }) => driver === deviceDriver)
      .map(({ driver, pool, device }) => ({
        resourceID: `${driver}/${pool}/${device}`,
        health: deviceHealth(node, device),
      }));
    return [{ name: `claim:${used.name}${suffix}`, resources }];
  });
  return allocatedResourcesStatus.length === 0 ? {} : { allocatedResourcesStatus };
}
