import { required, type Infer, list, pointer, Path, value, type Problems, structs } from "#schema";
import { kind, labelSelector, objectMeta } from "#meta";
import { checkLabelSelector } from "../label-selector.ts";
import { plainColumns, plainRow } from "../printing.ts";
import { checkPolicyRules, policyRule, roleHooks } from "./rules.ts";

const v1 = structs("api/rbac/v1");

const aggregationRule = v1(
  "AggregationRule",
  "Label selectors of the ClusterRoles to aggregate into a ClusterRole.",
  {
    clusterRoleSelectors: value(
      1,
      list(labelSelector),
      "Label selectors of ClusterRoles. The rules of every ClusterRole that matches any of " +
        "them are added.",
      { listType: "atomic" },
    ),
  },
);

const clusterRoleV1 = v1(
  "ClusterRole",
  "ClusterRole is a set of permissions that can be granted cluster-wide, or within namespaces " +
    "through RoleBindings.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    rules: required(
      2,
      list(policyRule),
      "Policy rules of the role. Managed by the controller, and overwritten, if " +
        "aggregationRule is set.",
      { listType: "atomic", openApi: { required: false } },
    ),
    aggregationRule: pointer(
      3,
      aggregationRule,
      "Aggregation of rules from other ClusterRoles. If set, the controller manages rules, and " +
        "overwrites direct changes.",
    ),
  },
);

type ClusterRole = Infer<typeof clusterRoleV1>;

function validate({ rules, aggregationRule }: ClusterRole, problems: Problems): void {
  checkPolicyRules(rules, { isNamespaced: false }, problems);
  if (aggregationRule === undefined) return;
  const path = Path.of("aggregationRule.clusterRoleSelectors");
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    const detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
    problems.required(path, detail);
  }
  for (const [index, selector] of selectors.entries()) {
    const before = problems.list.length;
    checkLabelSelector(selector, path.index(index), problems);
    if (problems.list.length === before) continue;
    problems.invalid(path.index(index), null, "invalid label selector.");
  }
}

export const clusterRole = kind(clusterRoleV1, {
  group: "rbac.authorization.{api}",
  kind: "ClusterRole",
  formerVersions: ["v1alpha1", "v1beta1"],
  plural: "clusterroles",
  scope: "Cluster",
  versions: [{ version: "v1", struct: clusterRoleV1, onByDefault: true, convert: "hub" }],
  rules: {
    metadataOnUpdate: { "": ["object", "object", "change"] },
    name: "path-segment",
    createOnUpdate: true,
  },
  hooks: roleHooks(validate),
  columns: plainColumns,
  row: plainRow,
});
