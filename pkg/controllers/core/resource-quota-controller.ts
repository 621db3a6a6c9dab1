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
import { amountOf, type Amounts, inScopes, pick, type Evaluator, plus } from "#quota";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { QuotaMonitor } from "./quota-monitor.ts";

/** Debounces recalculation: deletions come in bursts. */
const debounceMs = 50;
/** Time after which an object that admission has charged is either stored or rejected. */
const creationMs = 250;
/** Time after which usage is lowered although admission keeps charging the quota. */
const maxPostponeMs = 2_000;
const pageSize = 500;

/**
 * Maintains the status of ResourceQuotas: limits, and usage recalculated from all objects. Admission
 * raises the usage; only this controller lowers it.
 */
export async function runResourceQuotaController(
  context: ControllerContext,
  options: QuotaOptions,
): Promise<void> {
  await new ResourceQuotaController(context, options).run();
}

export interface QuotaOptions {
  /** Number of quotas recalculated concurrently. */
  readonly quotaWorkers: number;
  /** Interval in ms of full recalculations. */
  readonly quotaResyncMs: number;
}

/** A recalculation below the usage in the status, which may miss objects that are being created. */
interface PendingDecrease {
  /** resourceVersion of the quota. */
  readonly version: string;
  /** When this version was first seen, in ms of the monotonic clock. */
  readonly since: number;
  /** When the decrease was first seen, in any version. */
  readonly first: number;
}

class ResourceQuotaController {
  private readonly queue: WorkQueue;
  private readonly quotas: Informer<ResourceQuota>;
  private readonly monitor: QuotaMonitor;
  private readonly decreases = new Map<string, PendingDecrease>();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: QuotaOptions,
  ) {
    this.queue = newWorkQueue(context, "resource_quota_controller_resource_changes");
    this.quotas = context.informers.of(resourceQuotas);
    this.monitor = new QuotaMonitor(context, {
      names: () => new Set([...this.quotas.all()].flatMap(limitedResources)),
      served: () => this.addAll(),
      freed: (evaluator, namespace) => this.freed(evaluator, namespace),
    });
  }

  async run(): Promise<void> {
    this.quotas.subscribe((change) => {
      const { type, object } = change;
      const before = type === "updated" ? change.before : undefined;
      if (!deepEqual(object.spec, before?.spec)) this.monitor.updateWatches();
      if (type === "deleted") this.decreases.delete(objectKey(object));
      else if (!isStatusCurrent(object)) this.queue.add(objectKey(object));
    });
    await this.quotas.untilSynced();
    await Promise.all([
      this.monitor.run(),
      this.resync(),
      this.queue.run((key) => this.recalculate(key), {
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
      if (limitedResources(quota).some(matches)) this.queue.addAfter(objectKey(quota), debounceMs);
    }
  }

  private async recalculate(key: string): Promise<void> {
    const quota = this.quotas.get(key);
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const counted = this.monitor.countedBy(Object.keys(hard));
    if (counted === undefined)
      throw new RequeueAfter("resources have not been discovered yet", debounceMs);
    // Resources that are not served or cannot be listed keep their usage.
    let used = pick(quota.status?.used ?? {}, new Set(Object.keys(hard)));
    const failures: unknown[] = [];
    for (const [resource, evaluator] of counted) {
      try {
        used = { ...used, ...(await this.usageOf(quota, resource, evaluator)) };
      } catch (error) {
        this.context.signal.throwIfAborted();
        failures.push(error);
      }
    }
    const status = { hard, used };
    if (deepEqual(quota.status, status)) this.decreases.delete(key);
    else if (!this.isPostponed(quota, used)) {
      await this.updateStatus({ ...quota, status });
    }
    if (failures.length > 0) throw failures[0];
  }

  private async updateStatus(quota: ResourceQuota): Promise<void> {
    try {
      await this.context.client.update(resourceQuotas, quota, { subresource: "status" });
    } catch (error) {
      if (!isConflict(error)) throw error;
      throw new RequeueAfter("admission changed the usage concurrently", debounceMs);
    }
  }

  private async usageOf(
    quota: ResourceQuota,
    resource: Handle,
    evaluator: Evaluator,
  ): Promise<Amounts> {
    const names = new Set(limitedResources(quota).filter(evaluator.matches));
    let total: Amounts = Object.fromEntries([...names].map((name) => [name, "0"]));
    const turn = yieldEvery();
    for await (const object of this.objectsOf(resource, quota, evaluator)) {
      await turn();
      if (!inScopes(quota, resource.plural, object)) continue;
      total = plus(total, pick(evaluator.usage(object), names));
    }
    return total;
  }

  private async *objectsOf(
    resource: Handle,
    { metadata: { namespace = "" } }: ResourceQuota,
    { isConstant }: Evaluator,
  ): AsyncIterable<ApiObject> {
    let continueToken = "";
    do {
      const page = await this.context.client.list(resource, {
        namespace,
        metadataOnly: isConstant,
        limit: pageSize,
        continueToken,
      });
      yield* page.items;
      continueToken = page.continueToken;
    } while (continueToken !== "");
  }

  /**
   * Whether to postpone a decrease of usage. Admission charges an object before it is stored: a
   * recalculation in between misses it and would let one object too many through. So usage is lowered only
   * once the quota has not changed for `creationMs`, or after `maxPostponeMs`.
   */
  private isPostponed(quota: ResourceQuota, used: Amounts): boolean {
    const key = objectKey(quota);
    const noted = quota.status?.used;
    const isLess = Object.keys(used).some((name) => {
      const amount = amountOf(noted, name);
      return amount !== undefined && amountOf(used, name)!.compare(amount) < 0;
    });
    const now = this.context.clock.monotonic();
    const version = quota.metadata.resourceVersion;
    const before = this.decreases.get(key);
    const { since, first } =
      before?.version === version ? before : { since: now, first: before?.first ?? now };
    if (!isLess || now >= since + creationMs || now >= first + maxPostponeMs) {
      this.decreases.delete(key);
      return false;
    }
    this.decreases.set(key, { version, since, first });
    this.queue.addAfter(key, since + creationMs - now);
    return true;
  }
}

function limitedResources({ spec }: ResourceQuota): readonly string[] {
  return Object.keys(spec?.hard ?? {});
}

/** Whether the status has usage and the spec's limits. */
function isStatusCurrent({ spec, status }: ResourceQuota): boolean {
  return status?.used !== undefined && deepEqual(spec?.hard ?? {}, status.hard ?? {});
}
