import { required, list, named, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { column, nameColumn, nameOf } from "../printing.ts";

const v1 = structs("api/core/v1");

const componentCondition = v1("ComponentCondition", "Something known of a component.", {
  type: required(1, named("v1.ComponentConditionType", "Healthy"), "What it is about: Healthy."),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Whether it holds: True, False or Unknown.",
  ),
  message: value(3, string, "What the component answered."),
  error: value(4, string, "What went wrong while asking."),
});

const componentStatusV1 = v1(
  "ComponentStatus",
  "Whether a part of the control plane is well; deprecated.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    conditions: value(2, list(componentCondition), "What is known of the component.", {
      listType: "map",
      listMapKeys: ["type"],
      patchStrategy: ["merge"],
      patchMergeKey: "type",
    }),
  },
);

const words: Readonly<Record<string, string>> = { True: "Healthy", False: "Unhealthy" };

/** Made up on every read by asking the components: nothing is stored. */
export const componentStatus = kind(componentStatusV1, {
  group: "",
  kind: "ComponentStatus",
  plural: "componentstatuses",
  shortNames: ["cs"],
  scope: "Cluster",
  verbs: ["get", "list"],
  versions: [
    {
      version: "v1",
      struct: componentStatusV1,
      onByDefault: true,
      convert: "hub",
      deprecationWarning: "v1 ComponentStatus is deprecated in v1.19+",
    },
  ],
  rules: { computed: true },
  columns: [
    nameColumn,
    column("Status", "Whether the component is well."),
    column("Message", "What it answered."),
    column("Error", "What went wrong while asking."),
  ],
  row: (object) => {
    const health = object.conditions?.find(({ type }) => type === "Healthy");
    return [
      nameOf(object),
      health === undefined ? "Unknown" : (words[health.status] ?? "Unhealthy"),
      health?.message ?? "",
      health?.error ?? "",
    ];
  },
});
