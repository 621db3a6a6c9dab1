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

const clusterRoleBindingV1 = v1(
  "ClusterRoleBinding",
  "ClusterRoleBinding grants the permissions of a ClusterRole to subjects, cluster-wide.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    subjects,
    roleRef: required(
      3,
      roleRef,
      "ClusterRole to grant. Clients need its permissions, or the verb `bind` on it. Immutable.",
    ),
  },
);

export const clusterRoleBinding = kind(clusterRoleBindingV1, {
  group: rbacGroup,
  kind: "ClusterRoleBinding",
  formerVersions: ["v1alpha1", "v1beta1"],
  plural: "clusterrolebindings",
  scope: "Cluster",
  versions: [{ version: "v1", struct: clusterRoleBindingV1, onByDefault: true, convert: "hub" }],
  rules: {
    metadataOnUpdate: { "": ["object", "object", "change"] },
    name: "path-segment",
    createOnUpdate: true,
  },
  hooks: bindingHooks({ isNamespaced: false, roleKinds: ["ClusterRole"] }),
  columns: bindingColumns,
  row: bindingRow,
});
