import {
  type Handle,
  type Informer,
  type Lease,
  leases,
  type LeaseCandidate,
  leaseCandidates,
  type LeaseSpec,
  microsText,
  RequeueAfter,
} from "#client";
import { ignoreNotFound, isConflict } from "#meta";
import { pickBestLeader, oldestEmulation, electionStrategy } from "./election-strategy.ts";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

/** Time in which a pinged candidate must renew, and for which a renewal is valid. */
const renewMs = 5_000;
/** Delay of an election after a change, so that it sees all candidates that start together. */
const electionDelayMs = 2_000;
/** Intervals while pinged candidates have yet to renew, and while the leader is the best candidate. */
const pingedMs = 250;
const idleMs = 1_000;
/** leaseDurationSeconds of a Lease that the coordinator assigns; the holder then sets its own. */
const leaseSeconds = 5;
/** Interval of pings to all candidates, and age at which an unresponsive one is deleted. */
const pingAllMs = 30 * 60_000;
const forgottenMs = 2 * 60 * 60_000;

/**
 * Coordinated leader election: assigns each Lease to the candidate with the oldest emulation version, which
 * is compatible with all components during an upgrade. Candidates are pinged first. A held Lease is not
 * reassigned: `preferredHolder` asks its holder to release it.
 */
export async function runCoordinatedElection(context: ControllerContext): Promise<void> {
  await new LeaderElectionController(context).run();
}

class LeaderElectionController {
  private readonly candidates: Informer<LeaseCandidate>;
  private readonly resource: Handle<LeaseCandidate>;
  private readonly leases: Handle<Lease>;

  constructor(private readonly context: ControllerContext) {
    const { client, informers } = context;
    this.resource = leaseCandidates(client);
    this.candidates = informers.of(this.resource);
    this.leases = leases(client.domain);
  }

  async run(): Promise<void> {
    const queue = newWorkQueue(this.context, "leader-election-controller");
    await this.candidates.untilSynced();
    this.candidates.subscribe(({ object }) => queue.addAfter(leaseOf(object), electionDelayMs));
    await Promise.all([queue.run((key) => this.elect(key)), this.pingAll()]);
  }

  /** One election round of a Lease; requeues it while there are candidates. */
  private async elect(key: string): Promise<void> {
    const all = [...this.candidates.all()].filter((candidate) => leaseOf(candidate) === key);
    if (electionStrategy(all) !== oldestEmulation) return;
    const { client } = this.context;
    const [namespace = "", name = ""] = key.split("/");
    const lease = await client.get(this.leases, { namespace, name }).catch(ignoreNotFound);
    const holder = this.isHeld(lease) ? (lease?.spec?.holderIdentity ?? "") : "";
    const requeue = new RequeueAfter(`${key} has candidates`, idleMs);
    if (holder !== "" && pickBestLeader(all)?.metadata.name === holder) throw requeue;
    if (await this.pingCandidates(all))
      throw new RequeueAfter(`waiting for pinged candidates of ${key}`, pingedMs);
    const present = all.filter((candidate) => this.hasRenewed(candidate));
    const best =
      electionStrategy(present) === oldestEmulation ? pickBestLeader(present) : undefined;
    const chosen = best?.metadata.name ?? "";
    if (chosen !== "" && chosen !== holder) {
      const at = { namespace, name };
      await this.assign(lease, at, holder === "" ? { chosen } : { chosen, previousHolder: holder });
    }
    throw requeue;
  }

  /** Pings candidates; returns whether any has yet to respond. */
  private async pingCandidates(candidates: readonly LeaseCandidate[]): Promise<boolean> {
    let isWaiting = false;
    for (const candidate of candidates) {
      if (this.hasRenewed(candidate)) continue;
      const sincePingMs = this.context.clock.now() - timeOf(candidate.spec?.pingTime);
      // An unresponsive candidate is pinged again later; the election does not wait for it.
      if (sincePingMs > renewMs && sincePingMs <= 2 * renewMs && hasPendingPing(candidate))
        continue;
      if (sincePingMs > renewMs) await this.ping(candidate);
      isWaiting = true;
    }
    return isWaiting;
  }

  /** Whether the candidate renewed recently, and after its last ping. */
  private hasRenewed(candidate: LeaseCandidate): boolean {
    const renewed = timeOf(candidate.spec?.renewTime);
    const isRecent = renewed + renewMs > this.context.clock.now();
    return isRecent && !hasPendingPing(candidate);
  }

  private async ping(candidate: LeaseCandidate): Promise<void> {
    const { namespace = "", name, resourceVersion } = candidate.metadata;
    const spec = { pingTime: microsText(this.context.clock) };
    const body = { metadata: { resourceVersion }, spec };
    await this.context.client
      .patch(this.resource, { namespace, name }, { type: "merge", body })
      .catch((error: unknown) => (isConflict(error) ? undefined : ignoreNotFound(error)));
  }

  private isHeld(lease: Lease | undefined): boolean {
    const { renewTime, leaseDurationSeconds = 0 } = lease?.spec ?? {};
    const until = timeOf(renewTime) + leaseDurationSeconds * 1000;
    return until > this.context.clock.now();
  }

  /** Assigns a free or expired Lease to the chosen candidate; sets preferredHolder on a held one. */
  private async assign(
    lease: Lease | undefined,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    { chosen, previousHolder }: { readonly chosen: string; readonly previousHolder?: string },
  ): Promise<void> {
    const { client, clock } = this.context;
    const now = microsText(clock);
    const strategy = oldestEmulation;
    const { preferredHolder: _former, leaseTransitions = -1, ...before } = lease?.spec ?? {};
    const times = { acquireTime: now, renewTime: now, leaseDurationSeconds: leaseSeconds };
    const given: LeaseSpec = {
      ...before,
      ...times,
      holderIdentity: chosen,
      leaseTransitions: leaseTransitions + 1,
      strategy,
    };
    const spec =
      previousHolder === undefined ? given : { ...lease?.spec, strategy, preferredHolder: chosen };
    const written =
      lease === undefined
        ? client.create(this.leases, { metadata: { namespace, name }, spec })
        : client.update(this.leases, { ...lease, spec });
    // On a conflict the next round retries.
    await written.catch((error: unknown) =>
      isConflict(error) ? undefined : ignoreNotFound(error),
    );
  }

  /** Pings all candidates periodically, and deletes unresponsive ones. */
  private async pingAll(): Promise<void> {
    const { clock, signal, report } = this.context;
    while (!signal.aborted) {
      await clock.sleep(pingAllMs, signal, { background: true }).catch(() => undefined);
      for (const candidate of this.candidates.all()) {
        if (signal.aborted) return;
        const { creationTimestamp } = candidate.metadata;
        const seen = timeOf(candidate.spec?.renewTime ?? creationTimestamp);
        const work =
          clock.now() - seen > forgottenMs ? this.remove(candidate) : this.ping(candidate);
        await work.catch((error: unknown) =>
          report(`Failed to ping or delete a candidate of Lease ${leaseOf(candidate)}`, error),
        );
      }
    }
  }

  private async remove({ metadata }: LeaseCandidate): Promise<void> {
    const { namespace = "", name, uid, resourceVersion } = metadata;
    const preconditions = { uid, resourceVersion };
    await this.context.client
      .delete(this.resource, { namespace, name }, { preconditions })
      .catch((error: unknown) => (isConflict(error) ? undefined : ignoreNotFound(error)));
  }
}

/** `namespace/name` of the Lease for which a candidate stands. */
function leaseOf({ metadata, spec }: LeaseCandidate): string {
  return `${metadata.namespace ?? ""}/${spec?.leaseName ?? ""}`;
}

/** Milliseconds since 1970; 0 = never. */
function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function hasPendingPing({ spec }: LeaseCandidate): boolean {
  return (spec?.renewTime ?? "") < (spec?.pingTime ?? "");
}
