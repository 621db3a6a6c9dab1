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
} from "#schema";
import { type Condition, kind, objectMeta, time } from "#meta";
import { checkConditions } from "../condition-rules.ts";
import { goShape } from "../go-shape.ts";
import { column, nameOf } from "../printing.ts";
import { dividedWithMetadata } from "../status-metadata.ts";
import { mustNotChange } from "../strategy.ts";

const v1alpha1 = structs("api/storagemigration/v1alpha1");

const groupVersionResource = v1alpha1("GroupVersionResource", "A resource of the API.", {
  group: value(1, string, "Its group; empty for core."),
  version: value(2, string, "Its version."),
  resource: value(3, string, "Its plural name."),
});

const storageVersionMigrationSpec = v1alpha1(
  "StorageVersionMigrationSpec",
  "What is to be written anew.",
  {
    resource: required(1, groupVersionResource, "The resource whose objects are written; fixed."),
    continueToken: value(2, string, "Where the list of objects goes on."),
  },
);

const migrationCondition = v1alpha1("MigrationCondition", "How far it is.", {
  type: required(
    1,
    named("v1alpha1.MigrationConditionType", "Running", "Succeeded", "Failed"),
    "Running, Succeeded or Failed.",
  ),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Whether it holds: True, False or Unknown.",
  ),
  lastUpdateTime: value(3, time, "When it was last written."),
  reason: value(4, string, "Why it last changed, as one word."),
  message: value(5, string, "Why it last changed, for people."),
});

const storageVersionMigrationStatus = v1alpha1("StorageVersionMigrationStatus", "How far it is.", {
  conditions: value(1, list(migrationCondition), "How far it is.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
  resourceVersion: value(2, string, "Objects written after this version need no migration."),
});

const storageVersionMigrationV1alpha1 = v1alpha1(
  "StorageVersionMigration",
  "Asks for all objects of a resource to be stored in the current version.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, storageVersionMigrationSpec, "What is to be written anew."),
    status: value(3, storageVersionMigrationStatus, "How far it is."),
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

/** Problems are told of fields that are not there. */
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
function shown({ status }: Migration): unknown {
  return status.conditions?.map((each) => goShape(migrationCondition, each)) ?? null;
}

function checkVersion({ status: { resourceVersion: text = "" } }: Migration, problems: Problems) {
  if (text === "") return;
  if (!/^[+-]?[0-9]+$/.test(text)) {
    const quoted = JSON.stringify(text);
    const reason = `strconv.ParseInt: parsing ${quoted}: invalid syntax`;
    const detail = `failed to parse resource version ${quoted}: ${reason}`;
    problems.invalid(versionPath, text, detail);
  } else if (Number(text) < 0) {
    problems.invalid(versionPath, Number(text), "must be greater than or equal to 0");
  }
}

function checkStatus(migration: Migration, old: Migration, problems: Problems): void {
  const { status } = migration;
  checkVersion(migration, problems);
  const conditions = (status.conditions ?? []).map((each) => ({
    type: each.type,
    // Checked below like that of any other condition.
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
  const refuse = (detail: string) => problems.invalid(conditionsPath, shown(migration), detail);
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
      convert: "hub",
      deprecationWarning:
        "storagemigration.{api}/v1alpha1 StorageVersionMigration is deprecated in v1.33+, " +
        "unavailable in v1.36+",
    },
  ],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    unconditionalUpdate: false,
    metadataCheckedAgain: true,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    ...dividedWithMetadata(() => ({})),
    validate,
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") return checkStatus(object, old, problems);
      validate(object, problems);
      checkFixed(object, old, problems);
    },
  },
  columns: [
    column("Name", "Name of the object."),
    column("Resource", "The resource whose objects are written."),
  ],
  row: (object) => {
    const { group = "", version = "", resource = "" } = object.spec.resource;
    return [nameOf(object), `${resource}.${version}.${group}`];
  },
});
