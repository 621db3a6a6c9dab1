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

const leaseSpec = v1("LeaseSpec", "Who holds the lease, and until when.", {
  holderIdentity: pointer(1, string, "Who holds it; absent or empty if nobody does."),
  leaseDurationSeconds: pointer(
    2,
    int32,
    "How long others wait after renewTime before they take it.",
  ),
  acquireTime: pointer(3, microTime, "When the holder took it."),
  renewTime: pointer(4, microTime, "When the holder last renewed it."),
  leaseTransitions: pointer(5, int32, "How often it changed hands."),
  strategy: pointer(
    6,
    named("v1.CoordinatedLeaseStrategy"),
    "How the best candidate is picked in coordinated election.",
    { gate: "CoordinatedLeaderElection" },
  ),
  preferredHolder: pointer(7, string, "Who should take it next.", {
    gate: "CoordinatedLeaderElection",
  }),
});

const leaseV1 = v1("Lease", "Something one party holds at a time, for a time.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, leaseSpec, "Who holds it, and until when."),
});

type Lease = Infer<typeof leaseV1>;

const GATE = "CoordinatedLeaderElection";

/** Without coordinated election its fields are dropped, except from leases that had them before. */
function dropGated(lease: Lease, old: Lease | undefined, context: HookContext): void {
  if (context.gate(GATE) || old?.spec.strategy !== undefined) return;
  if (old?.spec.preferredHolder !== undefined) return;
  delete lease.spec.strategy;
  delete lease.spec.preferredHolder;
}

function validate({ spec }: Lease, problems: Problems): void {
  const path = Path.of("spec");
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    const place = path.child("leaseDurationSeconds");
    problems.invalid(place, leaseDurationSeconds, "must be greater than 0");
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    const place = path.child("leaseTransitions");
    problems.invalid(place, leaseTransitions, "must be greater than or equal to 0");
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
  columns: [nameColumn, column("Holder", "Who holds the lease."), ageColumn],
  row: (object, context) => [
    nameOf(object),
    object.spec.holderIdentity ?? "",
    ageOf(object, context),
  ],
});
