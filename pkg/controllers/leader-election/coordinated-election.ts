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

/** Time in which a pinged candidate must renew, and for which a renewal counts. */
const answerMs = 5_000;
/** Delay of an election after a change, so that candidates that start together are all seen. */
const gatherMs = 2_000;
/** Intervals while pinged candidates are awaited, and while there is a good leader. */
const askingMs = 250;
const calmMs = 1_000;
/** leaseDurationSeconds of a Lease that the coordinator assigns; the holder then sets its own. */
const leaseSeconds = 5;
/** Interval of pings to all candidates, and age at which a silent one is deleted. */
const roundMs = 30 * 60_000;
const forgottenMs = 2 * 60 * 60_000;

/**
 * Assigns Leases to the candidate with the oldest emulation version, so that during an upgrade the
 * leader is one that all components understand. Candidates are pinged first. A held Lease is not
 * taken away: `preferredHolder` asks its holder to release it.
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
    this.candidates.subscribe(({ object }) => queue.addAfter(leaseOf(object), gatherMs));
    await Promise.all([queue.run((key) => this.elect(key)), this.round()]);
  }

  /** One round of the election of a Lease; rounds go on while it has candidates. */
  private async elect(key: string): Promise<void> {
    const all = [...this.candidates.all()].filter((candidate) => leaseOf(candidate) === key);
    if (electionStrategy(all) !== oldestEmulation) return;
    const { client } = this.context;
    const [namespace = "", name = ""] = key.split("/");
    const lease = await client.get(this.leases, { namespace, name }).catch(ignoreNotFound);
    const holder = this.isHeld(lease) ? (lease?.spec?.holderIdentity ?? "") : "";
    const calm = new RequeueAfter(`${key} has candidates`, calmMs);
    if (holder !== "" && pickBestLeader(all)?.metadata.name === holder) throw calm;
    if (await this.ask(all)) throw new RequeueAfter(`candidates of ${key} are asked`, askingMs);
    const present = all.filter((candidate) => this.hasAnswered(candidate));
    const best =
      electionStrategy(present) === oldestEmulation ? pickBestLeader(present) : undefined;
    const chosen = best?.metadata.name ?? "";
    if (chosen !== "" && chosen !== holder) {
      const at = { namespace, name };
      await this.give(lease, at, holder === "" ? { chosen } : { chosen, leftBy: holder });
    }
    throw calm;
  }

  /** Pings candidates; answers whether a response is still awaited. */
  private async ask(candidates: readonly LeaseCandidate[]): Promise<boolean> {
    let waits = false;
    for (const candidate of candidates) {
      if (this.hasAnswered(candidate)) continue;
      const silent = this.context.clock.now() - timeOf(candidate.spec?.pingTime);
      // A candidate that did not respond is pinged again later, and not awaited until then.
      if (silent > answerMs && silent <= 2 * answerMs && isUnanswered(candidate)) continue;
      if (silent > answerMs) await this.ping(candidate);
      waits = true;
    }
    return waits;
  }

  /** Whether it renewed recently, and after the last ping. */
  private hasAnswered(candidate: LeaseCandidate): boolean {
    const renewed = timeOf(candidate.spec?.renewTime);
    const isRecent = renewed + answerMs > this.context.clock.now();
    return isRecent && !isUnanswered(candidate);
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

  /** Assigns a free Lease to the chosen candidate; sets preferredHolder on a held one. */
  private async give(
    lease: Lease | undefined,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    { chosen, leftBy }: { readonly chosen: string; readonly leftBy?: string },
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
      leftBy === undefined ? given : { ...lease?.spec, strategy, preferredHolder: chosen };
    const written =
      lease === undefined
        ? client.create(this.leases, { metadata: { namespace, name }, spec })
        : client.update(this.leases, { ...lease, spec });
    // A conflicting write is considered in the next round.
    await written.catch((error: unknown) =>
      isConflict(error) ? undefined : ignoreNotFound(error),
    );
  }

  /** Pings all candidates periodically, and deletes those that have been silent for long. */
  private async round(): Promise<void> {
    const { clock, signal, report } = this.context;
    while (!signal.aborted) {
      await clock.sleep(roundMs, signal, { background: true }).catch(() => undefined);
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

/** `namespace/name` of the lease that a candidate would like to hold. */
function leaseOf({ metadata, spec }: LeaseCandidate): string {
  return `${metadata.namespace ?? ""}/${spec?.leaseName ?? ""}`;
}

/** Milliseconds since 1970; 0 = never. */
function timeOf(text: string | undefined): number {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function isUnanswered({ spec }: LeaseCandidate): boolean {
  return (spec?.renewTime ?? "") < (spec?.pingTime ?? "");
}
