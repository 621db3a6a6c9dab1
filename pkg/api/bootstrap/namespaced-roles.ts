import type { DefaultRole } from "./notation.ts";

/** Default Roles in system namespaces. */
export const namespacedRoles: readonly DefaultRole[] = [
  {
    name: "system:controller:bootstrap-signer",
    namespace: "kube-public",
    rules: `
      get list watch | core | configmaps;
      update | core | configmaps | cluster-info;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "extension-apiserver-authentication-reader",
    namespace: "kube-system",
    rules: `
      get list watch | core | configmaps | extension-apiserver-authentication;
    `,
  },
  {
    name: "system::leader-locking-kube-controller-manager",
    namespace: "kube-system",
    rules: `
      watch | core | configmaps;
      get update | core | configmaps | kube-controller-manager;
      create get list update watch | coordination.{api} | leases;
      create get list update watch | coordination.{api} | leasecandidates;
    `,
  },
  {
    name: "system::leader-locking-kube-scheduler",
    namespace: "kube-system",
    rules: `
      watch | core | configmaps;
      get update | core | configmaps | kube-scheduler;
      create get list update watch | coordination.{api} | leases;
      create get list update watch | coordination.{api} | leasecandidates;
    `,
  },
  {
    name: "system:controller:bootstrap-signer",
    namespace: "kube-system",
    rules: `
      get list watch | core | secrets;
    `,
  },
  {
    name: "system:controller:cloud-provider",
    namespace: "kube-system",
    rules: `
      create get list watch | core | configmaps;
    `,
  },
  {
    name: "system:controller:token-cleaner",
    namespace: "kube-system",
    rules: `
      delete get list watch | core | secrets;
      create patch update | core events.{api} | events;
    `,
  },
];
