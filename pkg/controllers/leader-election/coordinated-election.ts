import {
  type Handle,
  type Informer,
  type Lease,
  type LeaseCandidate,
  leaseCandidates,
  type LeaseSpec,
  microsText,
  TryAgain,
} from "#client";
import { ignoreNotFound, isConflict, resolve } from "#meta";
import { pickBestLeader, oldestEmulation, electionStrategy } from "./election-strategy.ts";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";

/** A candidate that was asked has so long to answer, and its answer is good for as long. */
const answerMs = 5_000;
/** Candidates come in groups: an election waits a little for more. */
const gatherMs = 2_000;
/** Between looks while candidates are being asked, and while all is well. */
const askingMs = 250;
const calmMs = 1_000;
/** Of a lease that is given to a candidate, which then renews it with its own. */
const leaseSeconds = 5;
/** Everybody is asked from time to time, and forgotten who has not answered for long. */
const roundMs = 30 * 60_000;
const forgottenMs = 2 * 60 * 60_000;

/**
 * Gives leases to the best of their candidates: to the one that emulates the oldest version, so
 * that a cluster that is being upgraded is led by what all of it understands. Whoever is to lead is
 * asked first whether it is there. A lease that is held is not taken away: its holder is told whom
 * to leave it to.
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
    const group = resolve("coordination.{api}", client.domain);
    this.leases = { group, version: "v1", plural: "leases", kind: "Lease", namespaced: true };
  }

  async run(): Promise<void> {
    const queue = newWorkQueue(this.context, "leader-election-controller");
    await this.candidates.untilSynced();
    this.candidates.subscribe(({ object }) => queue.addAfter(leaseOf(object), gatherMs));
    await Promise.all([queue.run((key) => this.elect(key)), this.round()]);
  }

  /** One step of the election of a lease; more follow as long as it has candidates. */
  private async elect(key: string): Promise<void> {
    const all = [...this.candidates.all()].filter((candidate) => leaseOf(candidate) === key);
    if (electionStrategy(all) !== oldestEmulation) return;
    const { client } = this.context;
    const [namespace = "", name = ""] = key.split("/");
    const lease = await client.get(this.leases, { namespace, name }).catch(ignoreNotFound);
    const holder = this.isHeld(lease) ? (lease?.spec?.holderIdentity ?? "") : "";
    const calm = new TryAgain(`${key} has candidates`, calmMs);
    if (holder !== "" && pickBestLeader(all)?.metadata.name === holder) throw calm;
    if (await this.ask(all)) throw new TryAgain(`candidates of ${key} are asked`, askingMs);
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

  /** True if somebody is to be waited for. */
  private async ask(candidates: readonly LeaseCandidate[]): Promise<boolean> {
    let waits = false;
    for (const candidate of candidates) {
      if (this.hasAnswered(candidate)) continue;
      const silent = this.context.clock.now() - timeOf(candidate.spec?.pingTime);
      // Who did not answer has another chance later, and is not waited for until then.
      if (silent > answerMs && silent <= 2 * answerMs && isUnanswered(candidate)) continue;
      if (silent > answerMs) await this.ping(candidate);
      waits = true;
    }
    return waits;
  }

  /** It has renewed its candidacy just now, and after it was last asked. */
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

  /** Gives a free lease to the chosen one; of a held one, says who should have it next. */
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
    // Whoever was faster is looked at next time.
    await written.catch((error: unknown) =>
      isConflict(error) ? undefined : ignoreNotFound(error),
    );
  }

  /** Asks everybody now and then, and removes who has not answered for long. */
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
        await work.catch((error: unknown) => report(`candidate ${leaseOf(candidate)}`, error));
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
