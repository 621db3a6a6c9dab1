/** Choice of a leader among LeaseCandidates, without clock and requests. */
import { compareSemver, parseSemver } from "#base";
import type { LeaseCandidate } from "#client";

/** The only strategy of this coordinator; elections with another one are left alone. */
export const oldestEmulation = "OldestEmulationVersion";

/**
 * The strategy of the candidates with the newest binary; undefined where these do not agree, which
 * stops the election.
 */
export function electionStrategy(candidates: readonly LeaseCandidate[]): string | undefined {
  const newest = [...candidates].sort((a, b) => -byVersion(a, b, "binaryVersion"));
  const [first] = newest;
  if (first === undefined) return undefined;
  const peers = newest.filter((each) => byVersion(each, first, "binaryVersion") === 0);
  const strategies = new Set(peers.map(({ spec }) => spec?.strategy));
  return strategies.size === 1 ? first.spec?.strategy : undefined;
}

/** Oldest emulation version first, then oldest binary version, then oldest candidate. */
export function pickBestLeader(candidates: readonly LeaseCandidate[]): LeaseCandidate | undefined {
  const [best] = [...candidates].sort(
    (a, b) =>
      byVersion(a, b, "emulationVersion") ||
      byVersion(a, b, "binaryVersion") ||
      byText(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
      byText(a.metadata.name, b.metadata.name),
  );
  return best;
}

function byVersion(
  a: LeaseCandidate,
  b: LeaseCandidate,
  field: "binaryVersion" | "emulationVersion",
): number {
  const of = ({ spec }: LeaseCandidate) => parseSemver(spec?.[field] ?? "") ?? nothing;
  return compareSemver(of(a), of(b));
}

const nothing = { numbers: [0n, 0n, 0n], prerelease: [] } as const;

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
