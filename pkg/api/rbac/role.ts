import { required, type Infer, list, value, type Problems, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { checkPolicyRules, policyRule, roleHooks } from "./rules.ts";

const v1 = structs("api/rbac/v1");

const roleV1 = v1(
  "Role",
  "Role is a set of permissions that can be granted within its namespace.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    rules: required(
      2,
      list(policyRule),
      "Policy rules of the role. Clients can only grant permissions that they hold, unless they " +
        "have the verb `escalate`.",
      { listType: "atomic", openApi: { required: false } },
    ),
  },
);

function validate({ rules }: Infer<typeof roleV1>, problems: Problems): void {
  checkPolicyRules(rules, { isNamespaced: true }, problems);
}

export const role = kind(roleV1, {
  group: "rbac.authorization.{api}",
  kind: "Role",
  formerVersions: ["v1alpha1", "v1beta1"],
  plural: "roles",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: roleV1, onByDefault: true, convert: "hub" }],
  rules: {
    metadataOnUpdate: { "": ["object", "object", "change"] },
    name: "path-segment",
    createOnUpdate: true,
  },
  hooks: roleHooks(validate),
  columns: plainColumns,
  row: plainRow,
});
