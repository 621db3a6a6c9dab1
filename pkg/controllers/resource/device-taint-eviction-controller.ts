import { deepEqual } from "#base";
import { CoreEventRecorder, type Informer, objectKey } from "#client";
import {
  claimKeysOf,
  DeviceSelectors,
  isReservedFor,
  TaintedSlices,
} from "#dynamic-resource-allocation";
import {
  type AllocatedDevice,
  type Device,
  deviceClasses,
  type DeviceTaint,
  deviceTaintRules,
  type Pod,
  pods as podHandle,
  type ResourceClaim,
  resourceClaims,
  type ResourceSlice,
  resourceSlices,
  toleratesTaint,
} from "#kinds";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { isServed } from "../is-served.ts";
import { TaintDeletion, taintDeletionMetrics } from "../pods/taint-deletion.ts";
import { isOwner, owningPodOf } from "./pod-claims.ts";

export interface DeviceTaintEvictionOptions {
  /** Whether a feature gate is enabled; absent = alpha gates are disabled. */
  readonly gates?: (name: string) => boolean;
}

/** Metrics of the controller, named as in kube-controller-manager. */
export const deviceTaintEvictionMetrics = taintDeletionMetrics(
  "device_taint_eviction_controller",
  "NoExecute taint of a device",
);

const disruption = {
  reason: "DeletionByDeviceTaintManager",
  message: "Device Taint manager: deleting due to NoExecute taint",
};

const name = "device-taint-eviction-controller";
const byClaim = "resource-claims";
const byPool = "pool";
const workers = 8;

const poolOf = ({ driver, pool }: { readonly driver: string; readonly pool: string }) =>
  `${driver}/${pool}`;

/** Deletes pods whose claims do not (or no longer) tolerate the NoExecute taints of their devices. */
export async function runDeviceTaintEvictionController(
  context: ControllerContext,
  { gates = () => false }: DeviceTaintEvictionOptions,
): Promise<void> {
  const { client, informers } = context;
  const { domain } = client;
  if (!gates("DRADeviceTaints") || !(await isServed(context, deviceTaintRules(domain)))) return;
  const queue = newWorkQueue(context, "device_taint_pod");
  const recorder = new CoreEventRecorder(context, name);
  const pods = informers.of(podHandle);
  const claims = informers.of(resourceClaims(domain));
  const slices = informers.of(resourceSlices(domain));
  const classes = informers.of(deviceClasses(domain));
  const rules = informers.of(deviceTaintRules(domain));
  pods.addIndex(byClaim, claimKeysOf);
  claims.addIndex(byPool, (claim) => [...new Set(devicesOf(claim).map(poolOf))]);
  slices.addIndex(byPool, ({ spec }) => [poolOf({ driver: spec.driver, pool: spec.pool.name })]);
  const addUsers = (claim: ResourceClaim) => {
    for (const pod of pods.indexed(byClaim, objectKey(claim))) queue.add(objectKey(pod));
  };
  const tainted = new TaintedSlices(rules, classes, new DeviceSelectors(), () => {
    for (const claim of claims.all()) addUsers(claim);
  });
  pods.subscribe((change) => {
    const { type, object } = change;
    if (type === "updated" && isSameUse(change.before, object)) return;
    if (type === "deleted" || claimKeysOf(object).length > 0) queue.add(objectKey(object));
  });
  claims.subscribe(({ object }) => addUsers(object));
  slices.subscribe(({ object: { spec } }) => {
    const pool = poolOf({ driver: spec.driver, pool: spec.pool.name });
    for (const claim of claims.indexed(byPool, pool)) addUsers(claim);
  });
  const all = [pods, claims, slices, classes, rules];
  await Promise.all(all.map((informer) => informer.untilSynced()));
  const evictions = new DeviceTaintEvictions(context, recorder, { claims, slices, tainted });
  const sync = async (key: string) => {
    const waitMs = await evictions.sync(key, pods.get(key));
    if (waitMs !== undefined) queue.addAfter(key, waitMs);
  };
  await Promise.all([recorder.run(), queue.run(sync, { workers })]);
}

/** Whether an update changed neither the node nor the claims of the pod. */
function isSameUse(before: Pod, after: Pod): boolean {
  const isSameNode = before.spec?.nodeName === after.spec?.nodeName;
  return (
    isSameNode &&
    deepEqual(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses)
  );
}

function devicesOf({ status }: ResourceClaim): readonly AllocatedDevice[] {
  return status?.allocation?.devices?.results ?? [];
}

interface Sources {
  readonly claims: Informer<ResourceClaim>;
  readonly slices: Informer<ResourceSlice>;
  readonly tainted: TaintedSlices;
}

class DeviceTaintEvictions {
  /** Pods with a scheduled eviction, by key. */
  private readonly scheduled = new Map<string, Pod>();
  private readonly deletion: TaintDeletion;

  constructor(
    private readonly context: ControllerContext,
    private readonly recorder: CoreEventRecorder,
    private readonly sources: Sources,
  ) {
    this.deletion = new TaintDeletion(context, disruption, deviceTaintEvictionMetrics);
  }

  /** Returns the milliseconds until the next sync of the pod; undefined = on the next change. */
  async sync(key: string, pod: Pod | undefined): Promise<number | undefined> {
    const known = this.scheduled.get(key);
    if (known !== undefined && known.metadata.uid !== pod?.metadata.uid) this.scheduled.delete(key);
    if (pod === undefined) return undefined;
    const fireAt = this.evictionTime(pod);
    if (fireAt === undefined) {
      if (this.scheduled.delete(key)) this.recordEvent(pod, "Cancelling deletion");
      return undefined;
    }
    const now = this.context.clock.now();
    if (now < fireAt) {
      this.scheduled.set(key, pod);
      return fireAt - now;
    }
    await this.deletion.delete(pod, fireAt, () => this.recordEvent(pod, "Marking for deletion"));
    this.scheduled.delete(key);
    return undefined;
  }

  /** Earliest time (ms since 1970) at which a toleration of the pod's devices ends; undefined = never. */
  private evictionTime(pod: Pod): number | undefined {
    if (!pod.spec?.nodeName) return undefined;
    const times = claimKeysOf(pod).flatMap((key) => {
      const claim = this.sources.claims.get(key);
      if (claim === undefined || !isReservedFor(claim, pod)) return [];
      if (owningPodOf(claim) !== undefined && !isOwner(claim, pod)) return [];
      return devicesOf(claim).flatMap((device) => this.tolerationEnds(device));
    });
    return times.length === 0 ? undefined : Math.min(...times);
  }

  private tolerationEnds(allocated: AllocatedDevice): readonly number[] {
    const taints = this.deviceOf(allocated)?.taints ?? [];
    return taints
      .filter(({ effect }) => effect === "NoExecute")
      .flatMap((taint) => tolerationEnd(taint, allocated) ?? []);
  }

  /** The device in the newest generation of its pool, with taints of DeviceTaintRules. */
  private deviceOf({ driver, pool, device }: AllocatedDevice): Device | undefined {
    const { slices, tainted } = this.sources;
    const own = slices.indexed(byPool, poolOf({ driver, pool }));
    const generations = own.map(({ spec }) => BigInt(spec.pool.generation));
    const newest = generations.reduce((all, each) => (each > all ? each : all), 0n);
    return own
      .filter((_slice, index) => generations[index] === newest)
      .flatMap((slice) => tainted.withRuleTaints(slice).spec.devices ?? [])
      .find((each) => each.name === device);
  }

  private recordEvent(pod: Pod, message: string): void {
    const reason = "DeviceTaintManagerEviction";
    this.recorder.record(podHandle, pod, { type: "Normal", reason, message });
  }
}

/** End of the claim's toleration of a taint, in milliseconds since 1970; undefined = forever. */
function tolerationEnd(
  taint: DeviceTaint,
  { tolerations = [] }: AllocatedDevice,
): number | undefined {
  const added = taint.timeAdded === undefined ? 0 : Date.parse(taint.timeAdded);
  const matching = tolerations.filter(
    (each) => each.effect === "NoExecute" && toleratesTaint(each, taint),
  );
  if (matching.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return undefined;
  const seconds = matching.map(({ tolerationSeconds }) => Math.max(Number(tolerationSeconds), 0));
  return added + Math.min(...(seconds.length === 0 ? [0] : seconds)) * 1000;
}
