import { required, value, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import {
  bindingColumns,
  bindingHooks,
  bindingRow,
  rbacGroup,
  roleRef,
  subjects,
} from "./bindings.ts";

const v1 = structs("api/rbac/v1");

const roleBindingV1 = v1(
  "RoleBinding",
  "RoleBinding grants the permissions of a Role or ClusterRole to subjects, within its namespace.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    subjects,
    roleRef: required(
      3,
      roleRef,
      "Role in the same namespace, or ClusterRole, to grant. Clients need its permissions, or " +
        "the verb `bind` on it. Immutable.",
    ),
  },
);

export const roleBinding = kind(roleBindingV1, {
  group: rbacGroup,
  kind: "RoleBinding",
  formerVersions: ["v1alpha1", "v1beta1"],
  plural: "rolebindings",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: roleBindingV1, onByDefault: true, convert: "hub" }],
  rules: {
    metadataOnUpdate: { "": ["object", "object", "change"] },
    name: "path-segment",
    createOnUpdate: true,
  },
  hooks: bindingHooks({ isNamespaced: true, roleKinds: ["Role", "ClusterRole"] }),
  columns: bindingColumns,
  row: bindingRow,
});
