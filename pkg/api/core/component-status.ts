import { required, list, named, value, string, structs, mergedBy } from "#schema";
import { kind, objectMeta } from "#meta";
import { column, nameColumn, nameOf } from "../printing.ts";

const v1 = structs("api/core/v1");

const componentCondition = v1("ComponentCondition", "Result of one health check.", {
  type: required(
    1,
    named("v1.ComponentConditionType", "Healthy"),
    "Name of the condition: Healthy.",
    { openApi: { enum: false } },
  ),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Status of the condition: one of True, False, Unknown.",
    { openApi: { enum: false } },
  ),
  message: value(3, string, "Response of the component."),
  error: value(4, string, "Error encountered by the health check."),
});

const componentStatusV1 = v1(
  "ComponentStatus",
  "ComponentStatus reports the health of a control plane component. Deprecated since " +
    "v1.19: use the health endpoints of the components.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    conditions: value(
      2,
      list(componentCondition),
      "Results of the health checks of the component.",
      mergedBy("type"),
    ),
  },
);

const words: Readonly<Record<string, string>> = { True: "Healthy", False: "Unhealthy" };

/** ComponentStatus is not stored: every read probes the components. */
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
    column("Status", "Whether the component is healthy."),
    column("Message", "Response of the component."),
    column("Error", "Error encountered by the health check."),
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
