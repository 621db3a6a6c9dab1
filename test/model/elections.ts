import { type Clock, seededRandom } from "#base";
import { type ApiObject, type Client, type Handle, runElection } from "#client";
import { namespace, pause } from "./traffic.ts";

/** A leader's term, in milliseconds of a clock that all processes share. */
export interface Term {
  readonly leader: string;
  readonly begin: number;
  end: number;
}

export interface CandidateOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly identity: string;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Receives the terms of all candidates. */
  readonly terms: Term[];
}

export const leases: Handle<ApiObject & { readonly spec: { readonly holderIdentity?: string } }> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};
/** The Lease of the controller managers. */
export const managerLease = { namespace: "kube-system", name: "kube-controller-manager" };
const candidateLease = { namespace, name: "election" };
const ledMs = 40_000;
const lookMs = 200;
const times = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 400 };

/** Runs for leader until the signal aborts, also after losing the lease. */
export async function runCandidate(options: CandidateOptions): Promise<void> {
  const { signal, seed, identity, terms } = options;
  const random = seededRandom(seed);
  const lead = async (term: AbortSignal): Promise<void> => {
    const begin = performance.now();
    const noted: Term = { leader: identity, begin, end: Number.POSITIVE_INFINITY };
    terms.push(noted);
    await new Promise((resolve) => term.addEventListener("abort", resolve, { once: true }));
    noted.end = performance.now();
  };
  const report = () => undefined;
  const election = { ...options, ...times, random, lead, report, ...candidateLease };
  while (!signal.aborted) await runElection(election);
}

/** Checks that each Lease is renewed after the faults have ended. */
export async function checkLed(client: Client): Promise<readonly string[]> {
  const faults = [managerLease, candidateLease].map(async (lease) => {
    const { metadata: before } = await client.get(leases, lease);
    for (const end = performance.now() + ledMs; performance.now() < end; await pause(lookMs)) {
      const { metadata } = await client.get(leases, lease);
      if (metadata.resourceVersion !== before.resourceVersion) return [];
    }
    return [`no candidate renews the lease ${lease.name}`];
  });
  return (await Promise.all(faults)).flat();
}

/** Checks that no two terms overlap. */
export function checkTerms(terms: readonly Term[]): readonly string[] {
  const inOrder = [...terms].sort((a, b) => a.begin - b.begin);
  return inOrder.flatMap(({ leader, begin }, index) => {
    const before = inOrder.slice(0, index).find(({ end }) => end > begin);
    if (before === undefined) return [];
    const ms = Math.round(before.end - begin);
    return [`${leader} began to lead ${ms} ms before ${before.leader} stopped`];
  });
}
