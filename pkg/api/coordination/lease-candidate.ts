import {
  required,
  type Infer,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  named,
} from "#schema";
import { isConfigMapKey, kind, microTime, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange, same } from "../strategy.ts";
import { compareSemver, parseSemver } from "#base";
import { checkStrategyName, oldestEmulationVersion } from "./strategy-name.ts";

/** Struct of one version; both versions have the same fields. */
function leaseCandidateIn(version: "v1beta1" | "v1alpha2") {
  const declare = structs(`api/coordination/${version}`);
  const spec = declare("LeaseCandidateSpec", "Specification of a LeaseCandidate.", {
    leaseName: required(
      1,
      string,
      "Name of the Lease in the same namespace that the candidate applies for. Immutable.",
    ),
    pingTime: pointer(
      2,
      microTime,
      "Time at which the election controller last asked the candidate whether it is still " +
        "active. The candidate responds by updating renewTime.",
    ),
    renewTime: pointer(
      3,
      microTime,
      "Time at which the candidate last updated its LeaseCandidate. Candidates that stop " +
        "renewing are garbage-collected.",
    ),
    binaryVersion: required(
      4,
      string,
      "Binary version of the candidate: a semantic version without a leading `v`.",
    ),
    emulationVersion: value(
      5,
      string,
      "Emulation version of the candidate: a semantic version without a leading `v`, not " +
        "later than binaryVersion. Required for strategy OldestEmulationVersion.",
    ),
    strategy: value(
      6,
      named("v1.CoordinatedLeaseStrategy"),
      "Strategy for picking the leader, for example OldestEmulationVersion. If the " +
        "candidates for a Lease differ, that of the latest binaryVersion is used.",
      { openApi: { required: true } },
    ),
  });

  return declare(
    "LeaseCandidate",
    "LeaseCandidate defines a candidate for a Lease, for coordinated leader election.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Lease that the candidate applies for, its versions and renewal times."),
    },
  );
}

const leaseCandidateV1beta1 = leaseCandidateIn("v1beta1");

type LeaseCandidate = Infer<typeof leaseCandidateV1beta1>;

const path = Path.of("spec");

/** Parses a version; 0.0.0 for absent or malformed text. */
function checkVersion(
  field: "binaryVersion" | "emulationVersion",
  text: string,
  problems: Problems,
) {
  const version = text === "" ? undefined : parseSemver(text);
  if (text !== "" && version === undefined) {
    problems.invalid(path.child(field), text, "must be a valid semantic version");
  }
  return version ?? zero;
}

const zero = { numbers: [0n, 0n, 0n], prerelease: [] } as const;

function validate({ spec }: LeaseCandidate, problems: Problems): void {
  const { leaseName, binaryVersion, emulationVersion = "", strategy = "" } = spec;
  if (leaseName === "") problems.required(path.child("leaseName"));
  const emulated = checkVersion("emulationVersion", emulationVersion, problems);
  const binary = checkVersion("binaryVersion", binaryVersion, problems);
  if (binaryVersion === "") problems.required(path.child("binaryVersion"));
  else if (emulationVersion !== "" && compareSemver(binary, emulated) < 0) {
    const detail = "must be greater than or equal to `emulationVersion`";
    problems.invalid(path.child("binaryVersion"), binaryVersion, detail);
  }
  if (strategy === "") problems.required(path.child("strategy"));
  else checkStrategyName(strategy, path.child("strategy"), problems);
  if (strategy === oldestEmulationVersion && compareSemver(emulated, zero) === 0) {
    const detail = `must be specified when \`strategy\` is '${oldestEmulationVersion}'`;
    problems.required(path.child("emulationVersion"), detail);
  }
}

export const leaseCandidate = kind(leaseCandidateV1beta1, {
  group: "coordination.{api}",
  kind: "LeaseCandidate",
  plural: "leasecandidates",
  scope: "Namespaced",
  versions: [
    { version: "v1beta1", struct: leaseCandidateV1beta1, onByDefault: false, convert: "hub" },
    {
      version: "v1alpha2",
      struct: leaseCandidateIn("v1alpha2"),
      onByDefault: false,
      convert: same,
    },
  ],
  rules: {
    freeFinalizers: true,
    name: isConfigMapKey,
    createOnUpdate: true,
    unconditionalUpdate: false,
  },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      validate(object, problems);
      const values = { now: object.spec.leaseName, before: old.spec.leaseName };
      mustNotChange(problems, path.child("leaseName"), values);
    },
  },
  columns: [
    nameColumn,
    column("LeaseName", "Lease that the candidate wants to hold."),
    column("BinaryVersion", "Version of the candidate's binary."),
    column("EmulationVersion", "Version that the candidate emulates."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.leaseName,
    object.spec.binaryVersion,
    object.spec.emulationVersion ?? "",
    ageOf(object, context),
  ],
});
