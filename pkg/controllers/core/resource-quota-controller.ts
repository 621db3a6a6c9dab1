import { deepEqual, idleWhile, yieldEvery } from "#base";
import {
  type ApiObject,
  type Handle,
  type Informer,
  objectKey,
  RequeueAfter,
  type WorkQueue,
} from "#client";
import { type ResourceQuota, resourceQuotas } from "#kinds";
import { isConflict } from "#meta";
import { amountOf, type Amounts, inScopes, masked, type Evaluator, plus } from "#quota";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { QuotaMonitor } from "./quota-monitor.ts";

/** Delay of a count after a deletion: several follow each other. */
const calmMs = 50;
/** Time after which an object that admission has charged is stored, or never will be. */
const underWayMs = 250;
/** Time after which the usage is lowered even though admission keeps charging. */
const patienceMs = 2_000;
const pageSize = 500;

/**
 * Maintains the status of ResourceQuotas: limits and usage, counted object by object. Admission
 * raises the usage on create; only this controller lowers it.
 */
export async function runResourceQuotaController(
  context: ControllerContext,
  options: QuotaOptions,
): Promise<void> {
  await new ResourceQuotaController(context, options).run();
}

export interface QuotaOptions {
  /** Number of quotas counted concurrently. */
  readonly quotaWorkers: number;
  /** Interval at which all quotas are counted again, in ms. */
  readonly quotaResyncMs: number;
}

/** A count that is lower than the usage in the status. */
interface Doubt {
  /** The quota's version, and when it was seen first. */
  readonly version: string;
  readonly since: number;
  readonly first: number;
}

class ResourceQuotaController {
  private readonly queue: WorkQueue;
  private readonly quotas: Informer<ResourceQuota>;
  private readonly resources: QuotaMonitor;
  private readonly doubts = new Map<string, Doubt>();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: QuotaOptions,
  ) {
    this.queue = newWorkQueue(context, "resource_quota_controller_resource_changes");
    this.quotas = context.informers.of(resourceQuotas);
    this.resources = new QuotaMonitor(context, {
      names: () => new Set([...this.quotas.all()].flatMap(limitedBy)),
      served: () => this.addAll(),
      freed: (meter, namespace) => this.freed(meter, namespace),
    });
  }

  async run(): Promise<void> {
    this.quotas.subscribe((change) => {
      const { type, object } = change;
      const before = type === "updated" ? change.before : undefined;
      if (!deepEqual(object.spec, before?.spec)) this.resources.follow();
      if (type === "deleted") this.doubts.delete(objectKey(object));
      else if (!isInForce(object)) this.queue.add(objectKey(object));
    });
    await this.quotas.untilSynced();
    await Promise.all([
      this.resources.run(),
      this.resync(),
      this.queue.run((key) => this.count(key), {
        workers: this.options.quotaWorkers,
      }),
    ]);
  }

  private async resync(): Promise<void> {
    const { clock, signal } = this.context;
    const { quotaResyncMs } = this.options;
    const pause = idleWhile(() => this.quotas.size === 0);
    while (!signal.aborted) {
      await clock.sleep(quotaResyncMs, signal, pause).catch(() => undefined);
      this.addAll();
    }
  }

  private addAll(): void {
    for (const quota of this.quotas.all()) this.queue.add(objectKey(quota));
  }

  private freed({ matches }: Evaluator, namespace: string | undefined): void {
    for (const quota of this.quotas.all()) {
      if (namespace !== undefined && quota.metadata.namespace !== namespace) continue;
      if (limitedBy(quota).some(matches)) this.queue.addAfter(objectKey(quota), calmMs);
    }
  }

  private async count(key: string): Promise<void> {
    const quota = this.quotas.get(key);
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const counted = this.resources.countedBy(Object.keys(hard));
    if (counted === undefined)
      throw new RequeueAfter("resources have not been discovered yet", calmMs);
    // Usage that cannot be counted is kept.
    let used = masked(quota.status?.used ?? {}, new Set(Object.keys(hard)));
    const failures: unknown[] = [];
    for (const [resource, meter] of counted) {
      try {
        used = { ...used, ...(await this.usageOf(quota, resource, meter)) };
      } catch (error) {
        this.context.signal.throwIfAborted();
        failures.push(error);
      }
    }
    const status = { hard, used };
    if (deepEqual(quota.status, status)) this.doubts.delete(key);
    else if (!this.isDoubtful(quota, used)) {
      await this.note({ ...quota, status });
    }
    if (failures.length > 0) throw failures[0];
  }

  private async note(quota: ResourceQuota): Promise<void> {
    try {
      await this.context.client.update(resourceQuotas, quota, { subresource: "status" });
    } catch (error) {
      if (!isConflict(error)) throw error;
      throw new RequeueAfter("admission changed the usage meanwhile", calmMs);
    }
  }

  private async usageOf(
    quota: ResourceQuota,
    resource: Handle,
    meter: Evaluator,
  ): Promise<Amounts> {
    const names = new Set(limitedBy(quota).filter(meter.matches));
    let total: Amounts = Object.fromEntries([...names].map((name) => [name, "0"]));
    const turn = yieldEvery();
    for await (const object of this.objectsOf(resource, quota, meter)) {
      await turn();
      if (!inScopes(quota, resource.plural, object)) continue;
      total = plus(total, masked(meter.usage(object), names));
    }
    return total;
  }

  private async *objectsOf(
    resource: Handle,
    { metadata: { namespace = "" } }: ResourceQuota,
    { isPlain }: Evaluator,
  ): AsyncIterable<ApiObject> {
    let continueToken = "";
    do {
      const page = await this.context.client.list(resource, {
        namespace,
        metadataOnly: isPlain,
        limit: pageSize,
        continueToken,
      });
      yield* page.items;
      continueToken = page.continueToken;
    } while (continueToken !== "");
  }

  /**
   * Admission charges an object before it is stored: a count in between misses it and would admit
   * one object too many. So the usage is lowered only after the quota has not changed for a while.
   */
  private isDoubtful(quota: ResourceQuota, used: Amounts): boolean {
    const key = objectKey(quota);
    const noted = quota.status?.used;
    const isLess = Object.keys(used).some((name) => {
      const amount = amountOf(noted, name);
      return amount !== undefined && amountOf(used, name)!.compare(amount) < 0;
    });
    const now = this.context.clock.monotonic();
    const version = quota.metadata.resourceVersion;
    const before = this.doubts.get(key);
    const { since, first } =
      before?.version === version ? before : { since: now, first: before?.first ?? now };
    if (!isLess || now >= since + underWayMs || now >= first + patienceMs) {
      this.doubts.delete(key);
      return false;
    }
    this.doubts.set(key, { version, since, first });
    this.queue.addAfter(key, since + underWayMs - now);
    return true;
  }
}

function limitedBy({ spec }: ResourceQuota): readonly string[] {
  return Object.keys(spec?.hard ?? {});
}

/** Whether the status has usage and the limits of the spec. */
function isInForce({ spec, status }: ResourceQuota): boolean {
  return status?.used !== undefined && deepEqual(spec?.hard ?? {}, status.hard ?? {});
}
