import { assign } from "#base";
import { required, list, named, value, string, structs, mergedBy } from "#schema";
import { type HookContext, isQualifiedName, kind, objectMeta, resolve, time } from "#meta";
import { type Infer, Path, type Problems } from "#schema";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach } from "../strategy.ts";

const v1 = structs("api/core/v1");

const namespaceSpec = v1("NamespaceSpec", "Desired state of a namespace.", {
  finalizers: value(
    1,
    list(named("v1.FinalizerName")),
    "Finalizers that must be removed before the namespace is deleted. They can only be removed " +
      "through the subresource `finalize`.",
    { listType: "atomic" },
  ),
});

const namespaceCondition = v1(
  "NamespaceCondition",
  "One observed condition of a namespace, reported during its deletion.",
  {
    type: required(
      1,
      named("v1.NamespaceConditionType"),
      "Name of the condition: NamespaceDeletionDiscoveryFailure, " +
        "NamespaceDeletionContentFailure, NamespaceDeletionGroupVersionParsingFailure, " +
        "NamespaceContentRemaining or NamespaceFinalizersRemaining.",
    ),
    status: required(
      2,
      named("v1.ConditionStatus", "True", "False", "Unknown"),
      "Status of the condition: one of True, False, Unknown.",
      { openApi: { enum: false } },
    ),
    lastTransitionTime: value(4, time, "Time at which `status` last changed to another value."),
    reason: value(5, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(6, string, "Human-readable message with details about the last transition."),
  },
);

const namespaceStatus = v1("NamespaceStatus", "Observed state of a namespace.", {
  phase: value(
    1,
    named("v1.NamespacePhase", "Active", "Terminating"),
    "Lifecycle phase of the namespace: one of Active, Terminating (its contents are being " +
      "deleted, and no new objects can be created in it). Defaults to Active.",
    { default: "Active" },
  ),
  conditions: value(
    2,
    list(namespaceCondition),
    "Latest observed conditions. They explain why the deletion of the namespace is blocked.",
    mergedBy("type"),
  ),
});

const namespaceV1 = v1(
  "Namespace",
  "Namespace is a scope for the names of objects, and the unit of access control and quota.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name is a DNS label."),
    spec: value(2, namespaceSpec, "Finalizers of the namespace."),
    status: value(3, namespaceStatus, "Phase and conditions. Read-only."),
  },
);

type Namespace = Infer<typeof namespaceV1>;

/** Finalizer of every namespace, removed after its content is deleted. */
const contentFinalizer = "kubernetes";
const standardFinalizers = [contentFinalizer, "orphan", "foregroundDeletion"];

/** Sets the immutable label with the name of the namespace, for selectors. */
function labelName(namespace: Namespace, { domain }: HookContext): void {
  const { name } = namespace.metadata;
  if (!name) return;
  namespace.metadata.labels ??= {};
  assign(namespace.metadata.labels, resolve("{label}/metadata.name", domain), name);
}

function prepareUpdate(namespace: Namespace, old: Namespace, { subresource }: HookContext): void {
  if (subresource === "status") {
    namespace.spec = old.spec;
    return;
  }
  namespace.status = old.status;
  if (subresource === "finalize") return;
  if (old.spec.finalizers === undefined) delete namespace.spec.finalizers;
  else namespace.spec.finalizers = old.spec.finalizers;
}

/** Validates finalizers; causes contain the index for the subresource `finalize` only. */
function checkFinalizers(
  namespace: Namespace,
  problems: Problems,
  { subresource }: Pick<HookContext, "subresource">,
): void {
  const whole = Path.of("spec.finalizers");
  for (const [index, finalizer] of (namespace.spec.finalizers ?? []).entries()) {
    const path = subresource === "finalize" ? whole.index(index) : whole;
    const messages = isQualifiedName(finalizer);
    invalidEach(problems, path, { value: finalizer, messages });
    if (finalizer.includes("/") || standardFinalizers.includes(finalizer)) continue;
    const detail = "name is neither a standard finalizer name nor is it fully qualified";
    problems.invalid(path, finalizer, detail);
  }
}

/** Requires phase Terminating if and only if the namespace is being deleted. */
function checkPhase(namespace: Namespace, problems: Problems): void {
  const { phase } = namespace.status;
  const path = Path.of("status.Phase");
  if (!namespace.metadata.deletionTimestamp) {
    if (phase === "Active") return;
    problems.invalid(path, phase ?? "", "may only be 'Active' if `deletionTimestamp` is empty");
  } else if (phase !== "Terminating") {
    problems.invalid(
      path,
      phase ?? "",
      "may only be 'Terminating' if `deletionTimestamp` is not empty",
    );
  }
}

export const namespace = kind(namespaceV1, {
  group: "",
  kind: "Namespace",
  plural: "namespaces",
  shortNames: ["ns"],
  scope: "Cluster",
  verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
  versions: [{ version: "v1", struct: namespaceV1, onByDefault: true, convert: "hub" }],
  subresources: [
    { name: "finalize", verbs: ["update"] },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    name: "dns-label",
    deleteReturnsObject: true,
    deletePublishesStatus: true,
    resets: { finalize: ["status"] },
  },
  hooks: {
    default: labelName,
    prepareCreate: (object, context) => {
      labelName(object, context);
      object.status = { phase: "Active" };
      const finalizers = object.spec.finalizers ?? [];
      if (finalizers.includes(contentFinalizer)) return;
      object.spec.finalizers = [...finalizers, contentFinalizer];
    },
    prepareUpdate,
    validate: checkFinalizers,
    validateUpdate: (object, _old, problems, context) => {
      if (context.subresource === "status") checkPhase(object, problems);
      if (context.subresource === "finalize") checkFinalizers(object, problems, context);
    },
  },
  columns: [
    nameColumn,
    column("Status", "Phase of the namespace: Active or Terminating."),
    ageColumn,
  ],
  row: (object, context) => [nameOf(object), object.status.phase ?? "", ageOf(object, context)],
  selectableFields: { "status.phase": (object) => object.status.phase ?? "" },
});
