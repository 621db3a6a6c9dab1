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
  const spec = declare(
    "LeaseCandidateSpec",
    "Election that a candidate takes part in, and the versions that it runs.",
    {
      leaseName: required(
        1,
        string,
        "Name of the Lease, in the same namespace, that the candidate wants to hold. Immutable.",
      ),
      pingTime: pointer(
        2,
        microTime,
        "Time at which the election controller last asked the candidate to renew. The request " +
          "is pending while it is later than renewTime.",
      ),
      renewTime: pointer(
        3,
        microTime,
        "Time at which the candidate last confirmed that it is alive. Expired candidates are " +
          "garbage-collected.",
      ),
      binaryVersion: required(
        4,
        string,
        "Version of the candidate's binary as major.minor.patch, without a leading `v`.",
      ),
      emulationVersion: value(
        5,
        string,
        "Version that the candidate emulates, without a leading `v`; not later than " +
          "binaryVersion. Required for strategy OldestEmulationVersion.",
      ),
      strategy: value(
        6,
        named("v1.CoordinatedLeaseStrategy"),
        "How the election picks a leader, for example OldestEmulationVersion. Candidates of " +
          "one Lease that disagree follow the one with the latest binaryVersion.",
        { openApi: { required: true } },
      ),
    },
  );

  return declare(
    "LeaseCandidate",
    "LeaseCandidate announces a process that can become the leader of a coordinated election.",
    {
      metadata: value(1, objectMeta, "Standard object metadata."),
      spec: value(2, spec, "Lease to hold, versions and liveness of the candidate."),
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
