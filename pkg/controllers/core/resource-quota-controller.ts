import { deepEqual, yieldEvery } from "#base";
import {
  type ApiObject,
  type Handle,
  type Informer,
  keyOf,
  TryAgain,
  type WorkQueue,
} from "#client";
import { isConflict } from "#meta";
import { amountOf, type Amounts, inScopes, masked, type Meter, plus } from "#quota";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { type ResourceQuota, resourceQuotas } from "../kinds.ts";
import { QuotaMonitor } from "./quota-monitor.ts";

/** Deletions come in groups. */
const calmMs = 50;
/** What admission has noted is in the store after so long, or never. */
const underWayMs = 250;
/** Where admission notes something all the time, the usage becomes less all the same. */
const patienceMs = 2_000;
const pageSize = 500;

/**
 * Keeps the status of quotas: the limits that are in force and what is used, counted object by
 * object. Admission adds what is created by itself; only here does anything become less.
 */
export async function runResourceQuotaController(
  context: ControllerContext,
  options: QuotaOptions,
): Promise<void> {
  await new ResourceQuotaController(context, options).run();
}

export interface QuotaOptions {
  /** Quotas that are counted at a time. */
  readonly quotaWorkers: number;
  /** All of them are counted again after so many milliseconds. */
  readonly quotaResyncMs: number;
}

/** A count that came to less than what admission had noted. */
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
      if (type === "deleted") this.doubts.delete(keyOf(object));
      else if (!isInForce(object)) this.queue.add(keyOf(object));
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
    while (!signal.aborted) {
      const { quotaResyncMs } = this.options;
      await clock.sleep(quotaResyncMs, signal, { background: true }).catch(() => undefined);
      this.addAll();
    }
  }

  private addAll(): void {
    for (const quota of this.quotas.all()) this.queue.add(keyOf(quota));
  }

  private freed({ counts }: Meter, namespace: string | undefined): void {
    for (const quota of this.quotas.all()) {
      if (namespace !== undefined && quota.metadata.namespace !== namespace) continue;
      if (limitedBy(quota).some(counts)) this.queue.addAfter(keyOf(quota), calmMs);
    }
  }

  private async count(key: string): Promise<void> {
    const quota = this.quotas.get(key);
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const counted = this.resources.countedBy(Object.keys(hard));
    if (counted === undefined) throw new TryAgain("nobody knows yet what is served", calmMs);
    // What cannot be counted stays as it was.
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
      throw new TryAgain("admission has noted something while it was counted", calmMs);
    }
  }

  private async usageOf(quota: ResourceQuota, resource: Handle, meter: Meter): Promise<Amounts> {
    const names = new Set(limitedBy(quota).filter(meter.counts));
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
    { isPlain }: Meter,
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
   * Admission notes an object before it is stored: who counts in between counts one too few, and
   * would let one too many in. So a quota must have kept still for a while before it becomes less.
   */
  private isDoubtful(quota: ResourceQuota, used: Amounts): boolean {
    const key = keyOf(quota);
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

/** Its limits are those that admission goes by. */
function isInForce({ spec, status }: ResourceQuota): boolean {
  return status?.used !== undefined && deepEqual(spec?.hard ?? {}, status.hard ?? {});
}
