import {
  type Infer,
  int32,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { type HookContext, kind, microTime, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { checkStrategyName } from "./strategy-name.ts";

const v1 = structs("api/coordination/v1");

const leaseSpec = v1("LeaseSpec", "Specification of a Lease.", {
  holderIdentity: pointer(
    1,
    string,
    "Identity of the current holder. Empty if the Lease is free. For coordinated leader " +
      "election, the name of the elected LeaseCandidate.",
  ),
  leaseDurationSeconds: pointer(
    2,
    int32,
    "Seconds after renewTime that other candidates must wait before they can acquire the " +
      "Lease. Must be positive.",
  ),
  acquireTime: pointer(3, microTime, "Time at which the current holder acquired the Lease."),
  renewTime: pointer(4, microTime, "Time at which the current holder last renewed the Lease."),
  leaseTransitions: pointer(
    5,
    int32,
    "Number of transitions of the Lease between holders. Must not be negative.",
  ),
  strategy: pointer(
    6,
    named("v1.CoordinatedLeaseStrategy"),
    "Strategy of coordinated leader election for picking the leader, for example " +
      "OldestEmulationVersion. Beta, off by default: requires the feature gate " +
      "CoordinatedLeaderElection.",
    { gate: "CoordinatedLeaderElection" },
  ),
  preferredHolder: pointer(
    7,
    string,
    "Candidate in favor of which the current holder should release the Lease. Requires " +
      "strategy. Beta, off by default: requires the feature gate CoordinatedLeaderElection.",
    {
      gate: "CoordinatedLeaderElection",
    },
  ),
});

const leaseV1 = v1(
  "Lease",
  "Lease is a lock that one holder has at a time, as for leader election and node heartbeats.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, leaseSpec, "Holder of the Lease, and its duration and times."),
  },
);

type Lease = Infer<typeof leaseV1>;

const coordinatedElectionGate = "CoordinatedLeaderElection";

/**
 * Drops the fields of gate CoordinatedLeaderElection while it is off, unless the old lease set
 * them.
 */
function dropGated(lease: Lease, old: Lease | undefined, context: HookContext): void {
  if (context.gate(coordinatedElectionGate) || old?.spec.strategy !== undefined) return;
  if (old?.spec.preferredHolder !== undefined) return;
  delete lease.spec.strategy;
  delete lease.spec.preferredHolder;
}

function validate({ spec }: Lease, problems: Problems): void {
  const path = Path.of("spec");
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    const leaseDurationSecondsPath = path.child("leaseDurationSeconds");
    problems.invalid(leaseDurationSecondsPath, leaseDurationSeconds, "must be greater than 0");
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    const leaseTransitionsPath = path.child("leaseTransitions");
    problems.invalid(leaseTransitionsPath, leaseTransitions, "must be greater than or equal to 0");
  }
  if (strategy !== undefined) checkStrategyName(strategy, path.child("strategy"), problems);
  if (preferredHolder && !strategy) {
    const detail = "may only be specified if `strategy` is defined";
    problems.forbidden(path.child("preferredHolder"), detail);
  }
}

export const lease = kind(leaseV1, {
  group: "coordination.{api}",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: leaseV1, onByDefault: true, convert: "hub" }],
  rules: { createOnUpdate: true, unconditionalUpdate: false, freeFinalizers: true },
  hooks: {
    prepareCreate: (object, context) => dropGated(object, undefined, context),
    prepareUpdate: dropGated,
    validate,
  },
  columns: [nameColumn, column("Holder", "Identity of the current holder."), ageColumn],
  row: (object, context) => [
    nameOf(object),
    object.spec.holderIdentity ?? "",
    ageOf(object, context),
  ],
});
