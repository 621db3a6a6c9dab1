/** ResourceClaims, ResourceSlices and DeviceClasses, shared by all profiles. */
import {
  type ApiObject,
  type Client,
  type Handle,
  type Informer,
  type Informers,
  objectKey,
} from "#client";
import {
  AllocatedState,
  type AllocatorFeatures,
  allocatorFeatures,
  DeviceSelectors,
  TaintedSlices,
} from "#dynamic-resource-allocation";
import {
  type AllocationResult,
  type DeviceClass,
  deviceClasses,
  deviceTaintRules,
  type ResourceClaim,
  resourceClaims,
  type ResourceSlice,
  resourceSlices,
} from "#kinds";
import { type ClusterChange, eventOf } from "./cluster-events.ts";

export interface DeviceManagerOptions {
  readonly client: Client;
  readonly informers: Pick<Informers, "of">;
  /** Whether a feature gate is enabled. */
  readonly gate: (name: string) => boolean;
}

const byNode = "node";

type DeviceKind = "ResourceClaim" | "ResourceSlice" | "DeviceClass";

/**
 * Tracks allocated devices: of claims in the informer, of written claims that it does not show yet, and of
 * pods in their binding cycle.
 */
export class DeviceManager {
  readonly features: AllocatorFeatures;
  /** Whether `filterTimeout` limits the search on a node. */
  readonly limitsFilterTime: boolean;
  readonly selectors = new DeviceSelectors();
  readonly allocated = new AllocatedState();
  readonly claimHandle: Handle<ResourceClaim>;
  private readonly claims: Informer<ResourceClaim>;
  private readonly slices: Informer<ResourceSlice>;
  private readonly classes: Informer<DeviceClass>;
  private readonly tainted: TaintedSlices | undefined;
  /** Written claims that are newer than the informer's, by key. */
  private readonly assumed = new Map<string, ResourceClaim>();
  /** Allocations about to be written, by claim UID. */
  private readonly inFlight = new Map<string, AllocationResult>();
  private changed: (change: ClusterChange) => void = () => undefined;

  constructor({ client, informers, gate }: DeviceManagerOptions) {
    const { domain } = client;
    this.features = allocatorFeatures(gate);
    this.limitsFilterTime = gate("DRASchedulerFilterTimeout");
    this.claimHandle = resourceClaims(domain);
    this.claims = informers.of(this.claimHandle);
    this.slices = informers.of(resourceSlices(domain));
    this.classes = informers.of(deviceClasses(domain));
    this.slices.addIndex(byNode, ({ spec }) => [spec.nodeName ?? ""]);
    this.claims.subscribe((event) => {
      if (event.type === "deleted") this.forget(event.object);
      else this.seen(event.object, event.type === "updated" ? event.before : undefined);
    });
    this.follow("ResourceSlice", this.slices);
    this.follow("DeviceClass", this.classes);
    if (!this.features.deviceTaints) return;
    const rules = informers.of(deviceTaintRules(domain));
    this.tainted = new TaintedSlices(rules, this.classes, this.selectors, () =>
      this.tell("ResourceSlice", undefined, undefined),
    );
  }

  /** Sets the callback for changes that may make pods schedulable. */
  onChange(changed: (change: ClusterChange) => void): void {
    this.changed = changed;
  }

  /** Newest known version of a claim, by `namespace/name`. */
  claim(key: string): ResourceClaim | undefined {
    return this.assumed.get(key) ?? this.claims.get(key);
  }

  classOf(name: string): DeviceClass | undefined {
    return this.classes.get(name);
  }

  /** Slices that may be accessible from the node. */
  slicesFor(node: string): readonly ResourceSlice[] {
    const found = [...this.slices.indexed(byNode, node), ...this.slices.indexed(byNode, "")];
    found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const { tainted } = this;
    return tainted === undefined ? found : found.map((slice) => tainted.withRuleTaints(slice));
  }

  isPending(uid: string): boolean {
    return this.inFlight.has(uid);
  }

  setPending(uid: string, allocation: AllocationResult): void {
    this.removePending(uid);
    this.inFlight.set(uid, allocation);
    this.allocated.add(allocation);
  }

  removePending(uid: string): void {
    const allocation = this.inFlight.get(uid);
    if (allocation === undefined) return;
    this.inFlight.delete(uid);
    this.allocated.remove(allocation);
  }

  /** Assumes a written claim until the informer shows it. */
  assume(claim: ResourceClaim): void {
    const key = objectKey(claim);
    const shown = this.claims.get(key);
    if (shown?.metadata.uid !== claim.metadata.uid || !isNewer(claim, shown)) return;
    const before = this.claim(key);
    this.assumed.set(key, claim);
    this.count(before, claim);
  }

  private seen(claim: ResourceClaim, shown: ResourceClaim | undefined): void {
    const key = objectKey(claim);
    const assumed = this.assumed.get(key);
    const isObsolete = assumed !== undefined && isNewer(assumed, claim);
    if (isObsolete && assumed.metadata.uid === claim.metadata.uid) return;
    this.assumed.delete(key);
    const before = assumed ?? shown;
    this.count(before, claim);
    this.tell("ResourceClaim", before, claim);
  }

  private forget(claim: ResourceClaim): void {
    const key = objectKey(claim);
    const before = this.assumed.get(key) ?? claim;
    this.assumed.delete(key);
    this.count(before, undefined);
  }

  private count(before: ResourceClaim | undefined, after: ResourceClaim | undefined): void {
    const old = before?.status?.allocation;
    const made = after?.status?.allocation;
    if (made !== undefined) this.allocated.add(made);
    if (old !== undefined) this.allocated.remove(old);
  }

  private follow<T extends ApiObject>(resource: DeviceKind, informer: Informer<T>): void {
    informer.subscribe((event) => {
      if (event.type === "deleted") return;
      const before = event.type === "updated" ? event.before : undefined;
      this.tell(resource, before, event.object);
    });
  }

  private tell(
    resource: DeviceKind,
    before: ApiObject | undefined,
    after: ApiObject | undefined,
  ): void {
    const isAdd = before === undefined && after !== undefined;
    this.changed({ event: eventOf(resource, isAdd ? "add" : "update"), before, after });
  }
}

function isNewer(left: ResourceClaim, right: ResourceClaim): boolean {
  return BigInt(left.metadata.resourceVersion) > BigInt(right.metadata.resourceVersion);
}
