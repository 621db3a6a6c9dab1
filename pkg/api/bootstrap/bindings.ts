import type { DefaultBinding } from "./notation.ts";

/** Default ClusterRoleBindings, except those of controllers, which are derived from their roles. */
export const clusterBindings: readonly DefaultBinding[] = [
  { name: "cluster-admin", subjects: ["Group system:masters"] },
  { name: "system:basic-user", subjects: ["Group system:authenticated"] },
  {
    name: "system:cluster-trust-bundle-discovery",
    gate: "ClusterTrustBundle",
    subjects: ["Group system:serviceaccounts"],
  },
  { name: "system:discovery", subjects: ["Group system:authenticated"] },
  { name: "system:kube-controller-manager", subjects: ["User system:kube-controller-manager"] },
  { name: "system:kube-dns", subjects: ["ServiceAccount kube-system/kube-dns"] },
  { name: "system:kube-scheduler", subjects: ["User system:kube-scheduler"] },
  { name: "system:monitoring", subjects: ["Group system:monitoring"] },
  { name: "system:node", subjects: [] },
  { name: "system:node-proxier", subjects: ["User system:kube-proxy"] },
  {
    name: "system:public-info-viewer",
    subjects: ["Group system:authenticated", "Group system:unauthenticated"],
  },
  { name: "system:service-account-issuer-discovery", subjects: ["Group system:serviceaccounts"] },
  { name: "system:volume-scheduler", subjects: ["User system:kube-scheduler"] },
];

/** Default RoleBindings in system namespaces. */
export const namespacedBindings: readonly DefaultBinding[] = [
  {
    name: "system:controller:bootstrap-signer",
    namespace: "kube-public",
    subjects: ["ServiceAccount kube-system/bootstrap-signer"],
  },
  {
    name: "system::extension-apiserver-authentication-reader",
    namespace: "kube-system",
    role: "extension-apiserver-authentication-reader",
    subjects: ["User system:kube-controller-manager", "User system:kube-scheduler"],
  },
  {
    name: "system::leader-locking-kube-controller-manager",
    namespace: "kube-system",
    subjects: [
      "User system:kube-controller-manager",
      "ServiceAccount kube-system/kube-controller-manager",
      "ServiceAccount kube-system/leader-election-controller",
    ],
  },
  {
    name: "system::leader-locking-kube-scheduler",
    namespace: "kube-system",
    subjects: ["User system:kube-scheduler", "ServiceAccount kube-system/kube-scheduler"],
  },
  {
    name: "system:controller:bootstrap-signer",
    namespace: "kube-system",
    subjects: ["ServiceAccount kube-system/bootstrap-signer"],
  },
  {
    name: "system:controller:cloud-provider",
    namespace: "kube-system",
    subjects: ["ServiceAccount kube-system/cloud-provider"],
  },
  {
    name: "system:controller:token-cleaner",
    namespace: "kube-system",
    subjects: ["ServiceAccount kube-system/token-cleaner"],
  },
];
