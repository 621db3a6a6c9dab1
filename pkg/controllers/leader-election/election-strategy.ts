/** Selects a leader among LeaseCandidates. */
import { compareSemver, parseSemver } from "#base";
import type { LeaseCandidate } from "#client";

/** The only supported strategy; elections with another one are ignored. */
export const oldestEmulation = "OldestEmulationVersion";

/**
 * Strategy of the candidates with the newest binary version; undefined = they disagree: no election.
 */
export function electionStrategy(candidates: readonly LeaseCandidate[]): string | undefined {
  const newest = [...candidates].sort((a, b) => -byVersion(a, b, "binaryVersion"));
  const [first] = newest;
  if (first === undefined) return undefined;
  const peers = newest.filter((each) => byVersion(each, first, "binaryVersion") === 0);
  const strategies = new Set(peers.map(({ spec }) => spec?.strategy));
  return strategies.size === 1 ? first.spec?.strategy : undefined;
}

/** The candidate with the oldest emulation version, then the oldest binary version, then the oldest one. */
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
