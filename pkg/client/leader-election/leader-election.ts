import { setMaxListeners } from "node:events";
import { type Clock, deepEqual, type Random } from "#base";
import { formatMicros, ignoreNotFound, isConflict } from "#meta";
import { type Instruments, noInstruments } from "#request";
import type { Client, Handle } from "../contract.ts";
import { type Lease, leases, type LeaseSpec } from "./lease.ts";
import { withDeadline } from "../deadline.ts";
import { reflect } from "../informer/reflector.ts";

export interface ElectionTimes {
  /** Time in ms after the last observed renewal before other candidates may acquire the lease. */
  readonly leaseDurationMs: number;
  /** Time in ms without a successful renewal after which the leader stops leading. */
  readonly renewDeadlineMs: number;
  /** Delay between attempts to acquire or renew the lease, in milliseconds. */
  readonly retryPeriodMs: number;
}

export const defaultElectionTimes: ElectionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** The validation error of the times; undefined if they are valid. */
export function timesFault(times: ElectionTimes): string | undefined {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = times;
  if (leaseDurationMs < 1000) return "leaseDuration must be at least one second";
  if (leaseDurationMs <= renewDeadlineMs) return "leaseDuration must be greater than renewDeadline";
  if (renewDeadlineMs <= retryPeriodMs * jitter) {
    return `renewDeadline must be greater than retryPeriod*${jitter}`;
  }
  return retryPeriodMs < 1 ? "retryPeriod must be greater than zero" : undefined;
}

/** Maximum jitter of the interval between attempts to acquire, as a factor of the retry period. */
const jitter = 1.2;

export interface ElectionOptions extends ElectionTimes {
  readonly client: Client;
  readonly namespace: string;
  /** Name of the lease. */
  readonly name: string;
  /** Unique among the candidates. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /**
   * Coordinated leader election: the lease is acquired only when it names this candidate, and
   * released when it names another preferred holder.
   */
  readonly coordinated?: boolean;
  /** Runs while this candidate leads; the signal says when to stop. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  /** Called with the identity of each new leader, including this candidate. */
  readonly onLeader?: (identity: string) => void;
  readonly report: (what: string, error: unknown) => void;
  readonly instruments?: Instruments;
}

/**
 * Leader election by a Lease: waits until this candidate acquires the lease, leads until it is lost or
 * the signal aborts, releases it and returns. Expiry is measured by the local clock from the observation
 * of a renewal, so that clocks may differ in time, but not in rate.
 */
export async function runElection(options: ElectionOptions): Promise<void> {
  await new Election(options).run();
}

interface Observed {
  readonly lease: Lease;
  /** Monotonic time in ms when this spec was first observed. */
  readonly at: number;
}

class Election {
  private observed: Observed | undefined;
  private reportedLeader = "";
  /** Ends the pause between attempts; undefined during an attempt. */
  private wakeUp: (() => void) | undefined;
  /** The lease became available during an attempt, which may have read the earlier state. */
  private isWoken = false;
  private readonly leases: Handle<Lease>;

  constructor(private readonly options: ElectionOptions) {
    this.leases = leases(options.client.domain);
  }

  async run(): Promise<void> {
    this.setLeading(false);
    const since = await this.acquire();
    if (since === undefined) return;
    this.setLeading(true);
    const term = new AbortController();
    // All work of the leader listens to the signal.
    setMaxListeners(0, term.signal);
    const leading = this.options.lead(term.signal);
    try {
      // The term also ends when the work returns or fails.
      await Promise.race([leading, this.renewUntilLost(since)]);
    } finally {
      term.abort();
      await leading.finally(() => this.release());
      this.setLeading(false);
    }
  }

  /** Returns the monotonic time of acquisition; undefined if the signal aborted before. */
  private async acquire(): Promise<number | undefined> {
    const { clock, signal } = this.options;
    const waiting = new AbortController();
    const watching = this.watch(waiting.signal);
    try {
      while (!signal.aborted) {
        const began = clock.monotonic();
        if (await this.attempt()) return began;
        await this.pause();
      }
      return undefined;
    } finally {
      waiting.abort();
      await watching;
    }
  }

  /** Sleeps until the next attempt, which is due when the lease expires or is released. */
  private async pause(): Promise<void> {
    if (this.isWoken) {
      this.isWoken = false;
      return;
    }
    const { clock, random, signal, retryPeriodMs } = this.options;
    const usualMs = retryPeriodMs * (1 + jitter * random.next());
    const freeMs = this.isLeaseValid() ? this.leaseValidUntil - clock.monotonic() : usualMs;
    const paused = new AbortController();
    const leave = () => paused.abort();
    signal.addEventListener("abort", leave, { once: true });
    this.wakeUp = leave;
    await clock.sleep(Math.min(usualMs, freeMs), paused.signal).catch(() => undefined);
    signal.removeEventListener("abort", leave);
    this.wakeUp = undefined;
  }

  /** Watches the lease, to measure its duration from each renewal and to notice a release at once. */
  private async watch(waiting: AbortSignal): Promise<void> {
    const { signal, name, namespace } = this.options;
    const life = new AbortController();
    const leave = () => life.abort();
    for (const each of [signal, waiting]) each.addEventListener("abort", leave, { once: true });
    const onLease = (lease: Lease) => {
      const known = this.observed?.lease.metadata.resourceVersion ?? "0";
      if (BigInt(lease.metadata.resourceVersion) > BigInt(known)) this.observe(lease);
      const isAssigned = this.options.coordinated === true && this.holder === this.options.identity;
      if (this.holder === "" || isAssigned) this.wake();
    };
    await reflect({
      ...this.options,
      resource: this.leases,
      selection: { namespace, fieldSelector: `metadata.name=${name}` },
      signal: life.signal,
      // Without permission to watch, the lease is polled.
      report: () => undefined,
      sink: { replaced: (all) => all.forEach(onLease), changed: (_type, lease) => onLease(lease) },
    });
    signal.removeEventListener("abort", leave);
  }

  private wake(): void {
    if (this.wakeUp === undefined) this.isWoken = true;
    else this.wakeUp();
  }

  /** Renews until the renew deadline passes or the signal aborts. `since` is the last success. */
  private async renewUntilLost(since: number): Promise<void> {
    const { clock, signal, retryPeriodMs, renewDeadlineMs } = this.options;
    let renewed = since;
    while (!signal.aborted) {
      const remaining = renewed + renewDeadlineMs - clock.monotonic();
      if (remaining <= 0) return;
      await clock.sleep(Math.min(retryPeriodMs, remaining), signal).catch(() => undefined);
      const began = clock.monotonic();
      if (signal.aborted || began >= renewed + renewDeadlineMs) return;
      if (await this.attempt(renewed + renewDeadlineMs - began)) renewed = began;
      else if (this.holder !== this.options.identity || this.shouldYield) return;
    }
  }

  /** Whether the coordinator has set another preferred holder. */
  private get shouldYield(): boolean {
    const { coordinated, identity } = this.options;
    const preferred = this.observed?.lease.spec?.preferredHolder ?? "";
    return coordinated === true && preferred !== "" && preferred !== identity;
  }

  private get holder(): string {
    return this.observed?.lease.spec?.holderIdentity ?? "";
  }

  /** Acquires or renews the lease; false if another candidate holds it, or after the deadline. */
  private async attempt(ms = this.options.renewDeadlineMs): Promise<boolean> {
    const { clock, signal, namespace, name, report } = this.options;
    try {
      return await withDeadline({ clock, ms, signal }, (within) => this.takeOrRenew(within));
    } catch (error) {
      if (!signal.aborted && !isConflict(error))
        report(`Failed to acquire or renew Lease ${namespace}/${name}`, error);
      return false;
    }
  }

  private async takeOrRenew(signal: AbortSignal): Promise<boolean> {
    const { identity } = this.options;
    if (this.holder === identity && this.isLeaseValid() && !this.shouldYield) {
      // The lease is still valid, so no other candidate can hold it: update it without a read.
      try {
        return await this.write(this.observed!.lease, signal);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    const lease = await this.read(signal);
    if (lease === undefined) return this.create(signal);
    this.observe(lease);
    const taken = this.holder !== "" && this.holder !== identity && this.isLeaseValid();
    if (taken || !this.mayTake(lease)) return false;
    return this.write(lease, signal);
  }

  /** Whether this candidate may acquire the lease: in a coordinated election, only as its holder. */
  private mayTake({ spec = {} }: Lease): boolean {
    if (this.options.coordinated !== true || !spec.strategy) return true;
    return this.holder === this.options.identity && !this.shouldYield;
  }

  /** Whether the lease has not expired by the local clock. */
  private isLeaseValid(): boolean {
    return this.leaseValidUntil > this.options.clock.monotonic();
  }

  private get leaseValidUntil(): number {
    if (this.observed === undefined) return 0;
    const { lease, at } = this.observed;
    return at + (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
  }

  private async read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.options;
    return client.get(this.leases, { namespace, name }, { signal }).catch(ignoreNotFound);
  }

  private async create(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name, coordinated } = this.options;
    if (coordinated === true) return false;
    const now = this.now();
    const spec = { ...this.holderSpec(now), acquireTime: now, leaseTransitions: 0 };
    const draft = { metadata: { namespace, name }, spec };
    this.observe(await client.create(this.leases, draft, { signal }));
    return true;
  }

  private async write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { identity } = this.options;
    const { spec = {} } = lease;
    const mine = spec.holderIdentity === identity;
    const now = this.now();
    const { acquireTime = now, leaseTransitions = 0, preferredHolder: _left, ...others } = spec;
    const changed = mine
      ? { acquireTime, leaseTransitions }
      : { acquireTime: now, leaseTransitions: leaseTransitions + 1 };
    const next = { ...lease, spec: { ...others, ...this.holderSpec(now), ...changed } };
    this.observe(await this.options.client.update(this.leases, next, { signal }));
    return true;
  }

  private holderSpec(now: string): LeaseSpec {
    const { identity, leaseDurationMs } = this.options;
    const leaseDurationSeconds = Math.ceil(leaseDurationMs / 1000);
    return { holderIdentity: identity, leaseDurationSeconds, renewTime: now };
  }

  private now(): string {
    return microsText(this.options.clock);
  }

  private observe(lease: Lease): void {
    const { observed } = this;
    // A change of metadata only is not a renewal.
    const same = observed !== undefined && deepEqual(observed.lease.spec, lease.spec);
    this.observed = { lease, at: same ? observed.at : this.options.clock.monotonic() };
    if (this.holder === this.reportedLeader) return;
    this.reportedLeader = this.holder;
    if (this.reportedLeader !== "") this.options.onLeader?.(this.reportedLeader);
  }

  /** Releases the lease within the renew deadline, so that other candidates need not wait. */
  private async release(): Promise<void> {
    const { clock, renewDeadlineMs: ms, report } = this.options;
    const { signal } = new AbortController();
    await withDeadline({ clock, ms, signal }, (within) => this.writeReleased(within)).catch(
      (error: unknown) => report("Failed to release the Lease", error),
    );
  }

  /** Retries after conflicts with other writers of the lease, such as the coordinator. */
  private async writeReleased(signal: AbortSignal): Promise<void> {
    const { client, identity } = this.options;
    let lease = this.observed?.lease;
    while (lease?.spec?.holderIdentity === identity) {
      const now = this.now();
      const times = { leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
      const free = { ...lease, spec: { ...lease.spec, holderIdentity: "", ...times } };
      try {
        await client.update(this.leases, free, { signal });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      lease = await this.read(signal);
    }
  }

  private setLeading(leads: boolean): void {
    const { instruments = noInstruments, name } = this.options;
    instruments.set("leader_election_master_status", { name }, leads ? 1 : 0);
  }
}

/** The current time as MicroTime. */
export function microsText(clock: Clock): string {
  const micros = clock.nowMicros();
  return formatMicros({ seconds: Math.floor(micros / 1e6), nanos: (micros % 1e6) * 1000 });
}
