import { required, type Infer, int64, Path, value, type Problems, structs } from "#schema";
import { kind, objectMeta, rawExtension } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange } from "../strategy.ts";

const v1 = structs("api/apps/v1");

const controllerRevisionV1 = v1(
  "ControllerRevision",
  "ControllerRevision is an immutable snapshot of state data of a DaemonSet or StatefulSet, " +
    "kept for updates and rollbacks.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The owner reference names the controller that the snapshot " +
        "belongs to.",
    ),
    data: value(
      2,
      rawExtension,
      "Serialized state of the controller's owner, usually its pod template as a patch. " +
        "Required. Immutable.",
    ),
    revision: required(
      3,
      int64,
      "Sequence number of the revision: a higher one is newer. Must not be negative.",
    ),
  },
);

type ControllerRevision = Infer<typeof controllerRevisionV1>;

function checkRevision({ revision }: ControllerRevision, problems: Problems): void {
  if (revision >= 0) return;
  problems.invalid(Path.of("revision"), revision, "must be greater than or equal to 0");
}

/** Requires an object as data. Updates of revisions stored before this rule are not checked. */
function checkData({ data }: ControllerRevision, problems: Problems): void {
  const path = Path.of("data");
  if (data === undefined || data === null) return problems.required(path, "data is mandatory");
  if (typeof data === "object" && !Array.isArray(data)) return;
  problems.required(path, "data must be a valid JSON object");
}

/** Table cell of the controlling owner, `statefulset.apps/web` for example. */
function controllerOf({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return "<none>";
  const [group] = owner.apiVersion.includes("/") ? owner.apiVersion.split("/") : [""];
  return `${(group ? `${owner.kind}.${group}` : owner.kind).toLowerCase()}/${owner.name}`;
}

export const controllerRevision = kind(controllerRevisionV1, {
  group: "apps",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: controllerRevisionV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["change", "object"] } },
  hooks: {
    validate: (object, problems) => {
      checkRevision(object, problems);
      checkData(object, problems);
    },
    validateUpdate: (object, old, problems) => {
      checkRevision(object, problems);
      mustNotChange(problems, Path.of("data"), { now: object.data, before: old.data });
    },
  },
  columns: [
    nameColumn,
    column("Controller", "Object that the revision belongs to."),
    column("Revision", "Sequence number; higher is newer."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    controllerOf(object),
    object.revision,
    ageOf(object, context),
  ],
});
