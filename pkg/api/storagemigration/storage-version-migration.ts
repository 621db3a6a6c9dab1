import {
  required,
  type Infer,
  list,
  named,
  Path,
  value,
  type Problems,
  string,
  structs,
  mergedBy,
} from "#schema";
import { type Condition, kind, objectMeta, time } from "#meta";
import { checkConditions } from "../condition-rules.ts";
import { goShape } from "../go/go-shape.ts";
import { column, nameOf } from "../printing.ts";
import { splitByStatusKeepingMetadata } from "../status-metadata.ts";
import { mustNotChange } from "../strategy.ts";

const v1alpha1 = structs("api/storagemigration/v1alpha1");

const groupVersionResource = v1alpha1(
  "GroupVersionResource",
  "Group, version and name of a resource.",
  {
    group: value(1, string, "API group of the resource. Empty for the core group."),
    version: value(2, string, "API version of the resource."),
    resource: value(3, string, "Resource in lowercase plural, for example `deployments`."),
  },
);

const storageVersionMigrationSpec = v1alpha1(
  "StorageVersionMigrationSpec",
  "Specification of a StorageVersionMigration.",
  {
    resource: required(1, groupVersionResource, "Resource whose objects are migrated. Immutable."),
    continueToken: value(
      2,
      string,
      "Continue token of the next chunk of objects, from which an interrupted migration resumes.",
    ),
  },
);

const migrationCondition = v1alpha1(
  "MigrationCondition",
  "One observed condition of a StorageVersionMigration.",
  {
    type: required(
      1,
      named("v1alpha1.MigrationConditionType", "Running", "Succeeded", "Failed"),
      "Type of the condition: one of Running, Succeeded, Failed.",
    ),
    status: required(
      2,
      named("v1.ConditionStatus", "True", "False", "Unknown"),
      "Status of the condition: one of True, False, Unknown.",
    ),
    lastUpdateTime: value(3, time, "Time at which the condition was last updated."),
    reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(5, string, "Human-readable message with details about the last transition."),
  },
);

const storageVersionMigrationStatus = v1alpha1(
  "StorageVersionMigrationStatus",
  "Observed state of a StorageVersionMigration.",
  {
    conditions: value(
      1,
      list(migrationCondition),
      "Latest observed conditions. Succeeded or Failed with status True marks the migration as " +
        "finished.",
      mergedBy("type"),
    ),
    resourceVersion: value(
      2,
      string,
      "Resource version at which the controller first observed the migration. Objects written " +
        "later need no migration.",
    ),
  },
);

const storageVersionMigrationV1alpha1 = v1alpha1(
  "StorageVersionMigration",
  "StorageVersionMigration rewrites all stored objects of a resource in its current storage " +
    "version. Alpha: requires the feature gate StorageVersionMigrator.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, storageVersionMigrationSpec, "Resource to migrate."),
    status: value(
      3,
      storageVersionMigrationStatus,
      "Progress of the migration, reported by the storage version migrator. Read-only.",
    ),
  },
);

type Migration = Infer<typeof storageVersionMigrationV1alpha1>;

const path = Path.of("spec.resource");
const conditionsPath = Path.of("status.conditions");
const versionPath = Path.of("status.resourceVersion");

function validate({ spec }: Migration, problems: Problems): void {
  for (const field of ["resource", "version"] as const) {
    if (!spec.resource[field]) problems.required(path.child(field), `${field} is required`);
  }
}

/** Rejects changes of the spec; reported paths do not exist, as in Kubernetes. */
function checkFixed({ spec }: Migration, old: Migration, problems: Problems): void {
  for (const field of ["group", "version", "resource"] as const) {
    const now = spec.resource[field] ?? "";
    mustNotChange(problems, Path.of(field), { now, before: old.spec.resource[field] ?? "" });
  }
}

function isTrue({ status }: Migration, type: string): boolean {
  return status.conditions?.some((each) => each.type === type && each.status === "True") ?? false;
}

/** Conditions as Kubernetes prints them. */
function goConditions({ status }: Migration): unknown {
  return status.conditions?.map((each) => goShape(migrationCondition, each)) ?? null;
}

function checkVersion({ status: { resourceVersion: text = "" } }: Migration, problems: Problems) {
  if (text === "") return;
  if (!/^[+-]?[0-9]+$/.test(text)) {
    const quoted = JSON.stringify(text);
    const reason = `strconv.ParseInt: parsing ${quoted}: invalid syntax`;
    const detail = `failed to parse resource version ${quoted}: ${reason}`;
    problems.invalid(versionPath, text, detail);
  } else if (BigInt(text.replace("+", "")) < 0n) {
    problems.invalid(versionPath, BigInt(text), "must be greater than or equal to 0");
  }
}

function checkStatus(migration: Migration, old: Migration, problems: Problems): void {
  const { status } = migration;
  checkVersion(migration, problems);
  const conditions = (status.conditions ?? []).map((each) => ({
    type: each.type,
    // Validated below with the other conditions.
    status: each.status as Condition["status"],
    lastTransitionTime: each.lastUpdateTime ?? "",
    reason: each.reason ?? "",
    message: each.message ?? "",
  }));
  checkConditions(conditions, conditionsPath, problems);
  if (old.status.resourceVersion) {
    const values = { now: status.resourceVersion ?? "", before: old.status.resourceVersion };
    mustNotChange(problems, versionPath, values);
  }
  const refuse = (detail: string) =>
    problems.invalid(conditionsPath, goConditions(migration), detail);
  const [succeeded, failed] = [isTrue(migration, "Succeeded"), isTrue(migration, "Failed")];
  const running = isTrue(migration, "Running");
  if (succeeded && failed) {
    refuse("Both success and failed conditions cannot be true at the same time");
  }
  if (succeeded && running) {
    refuse("Running condition cannot be true when success condition is true");
  }
  if (failed && running) refuse("Running condition cannot be true when failed condition is true");
  if (isTrue(old, "Succeeded") && !succeeded) {
    refuse("Success condition cannot be set to false once it is true");
  }
  if (isTrue(old, "Failed") && !failed) {
    refuse("Failed condition cannot be set to false once it is true");
  }
}

export const storageVersionMigration = kind(storageVersionMigrationV1alpha1, {
  group: "storagemigration.{api}",
  kind: "StorageVersionMigration",
  plural: "storageversionmigrations",
  scope: "Cluster",
  versions: [
    {
      version: "v1alpha1",
      struct: storageVersionMigrationV1alpha1,
      onByDefault: false,
      gate: "StorageVersionMigrator",
      convert: "hub",
      deprecationWarning:
        "storagemigration.{api}/v1alpha1 StorageVersionMigration is deprecated in v1.33+, " +
        "unavailable in v1.36+",
    },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    unconditionalUpdate: false,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    ...splitByStatusKeepingMetadata(() => ({})),
    validate,
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") return checkStatus(object, old, problems);
      validate(object, problems);
      checkFixed(object, old, problems);
    },
  },
  columns: [
    column("Name", "Name of the migration."),
    column("Resource", "Resource whose objects are rewritten."),
  ],
  row: (object) => {
    const { group = "", version = "", resource = "" } = object.spec.resource;
    return [nameOf(object), `${resource}.${version}.${group}`];
  },
});
