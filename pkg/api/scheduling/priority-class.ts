import {
  required,
  bool,
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
import { kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { mustNotChange, unsupported } from "../strategy.ts";

const v1 = structs("api/scheduling/v1");

const preemptionPolicy = named("v1.PreemptionPolicy", "PreemptLowerPriority", "Never");

const priorityClassV1 = v1(
  "PriorityClass",
  "PriorityClass maps a name, to which pods refer in priorityClassName, to an integer priority.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. Names that begin with `system-` are reserved for built-in " +
        "classes.",
    ),
    value: required(
      2,
      int32,
      "Priority of pods of the class: higher values are scheduled first and can preempt lower " +
        "ones. At most 1000000000, except for built-in classes. Immutable.",
    ),
    globalDefault: value(
      3,
      bool,
      "Whether the class is the default for pods without priorityClassName. Only one class " +
        "should set it; without any, the default priority is 0. Defaults to false.",
    ),
    description: value(4, string, "Human-readable guideline for when to use the class."),
    preemptionPolicy: pointer(
      5,
      preemptionPolicy,
      "Preemption policy of pods of the class: one of PreemptLowerPriority, Never. Defaults to " +
        "PreemptLowerPriority. Immutable.",
      { default: "PreemptLowerPriority" },
    ),
  },
);

type PriorityClass = Infer<typeof priorityClassV1>;

const maxUserValue = 1_000_000_000;

/** Name prefix of the system priority classes. */
const systemPrefix = "system-";

export const systemClasses = [
  {
    name: "system-cluster-critical",
    value: 2 * maxUserValue,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another " +
      "node if necessary.",
  },
  {
    name: "system-node-critical",
    value: 2 * maxUserValue + 1000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
] as const;

/** Difference from the system class of this name; undefined if equal. */
function deviation(object: PriorityClass): string | undefined {
  const { name } = object.metadata;
  const known = systemClasses.find((each) => each.name === name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (object.value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  if (object.globalDefault) return `globalDefault of ${name} PriorityClass must be false`;
  return undefined;
}

function checkName(object: PriorityClass, problems: Problems): void {
  if (!object.metadata.name?.startsWith(systemPrefix)) {
    if (object.value <= maxUserValue) return;
    const limit = `maximum allowed value of a user defined priority is ${maxUserValue}`;
    return problems.forbidden(Path.of("value"), limit);
  }
  const wrong = deviation(object);
  if (wrong === undefined) return;
  problems.forbidden(
    Path.of("metadata.name"),
    `priority class names with '${systemPrefix}' prefix are reserved for system use only. ` +
      `error: ${wrong}`,
  );
}

/** In the order in which messages list them. */
const policies = ["PreemptLowerPriority", "Never"];

export const priorityClass = kind(priorityClassV1, {
  group: "scheduling.{api}",
  kind: "PriorityClass",
  plural: "priorityclasses",
  shortNames: ["pc"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: priorityClassV1, onByDefault: true, convert: "hub" }],
  hooks: {
    // The generation is 1 on creation and never changes.
    prepareCreate: (object) => {
      object.metadata.generation = 1;
    },
    prepareUpdate: (object, old) => {
      if (old.metadata.generation === undefined) delete object.metadata.generation;
      else object.metadata.generation = old.metadata.generation;
    },
    validate: (object, problems) => {
      checkName(object, problems);
      const policy = object.preemptionPolicy;
      const path = Path.of("preemptionPolicy");
      if (policy === "") problems.required(path);
      else if (policy !== undefined && !policies.includes(policy)) {
        unsupported(problems, path, { value: policy, supported: policies });
      }
    },
    validateUpdate: (object, old, problems) => {
      if (object.value !== old.value) {
        problems.forbidden(Path.of("value"), "may not be changed in an update.");
      }
      const values = { now: object.preemptionPolicy, before: old.preemptionPolicy };
      mustNotChange(problems, Path.of("preemptionPolicy"), values);
    },
  },
  columns: [
    nameColumn,
    column("Value", "Priority of the pods; higher values come first.", { type: "integer" }),
    column("Global-Default", "Whether pods without priorityClassName get this class.", {
      type: "boolean",
    }),
    ageColumn,
    column("PreemptionPolicy", "Whether pods of the class may evict pods of lower priority."),
  ],
  row: (object, context) => [
    nameOf(object),
    object.value,
    object.globalDefault ?? false,
    ageOf(object, context),
    object.preemptionPolicy ?? "",
  ],
});
