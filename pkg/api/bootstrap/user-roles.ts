import type { DefaultRole } from "./notation.ts";

/** User-facing ClusterRoles (admin, edit, view) and the roles that they aggregate. */
export const userRoles: readonly DefaultRole[] = [
  { name: "admin", aggregates: "admin" },
  {
    name: "cluster-admin",
    rules: `
      * | * | *;
      * | *;
    `,
  },
  { name: "edit", aggregatedTo: "admin", aggregates: "edit" },
  {
    name: "system:aggregate-to-admin",
    aggregatedTo: "admin",
    rules: `
      create | authorization.{api} | localsubjectaccessreviews;
      create delete deletecollection get list patch update watch | rbac.authorization.{api} |
      rolebindings roles;
    `,
  },
  {
    name: "system:aggregate-to-edit",
    aggregatedTo: "edit",
    rules: `
      get list watch | core | pods/attach pods/exec pods/portforward pods/proxy secrets
      services/proxy;
      impersonate | core | serviceaccounts;
      create delete deletecollection patch update | core | pods pods/attach pods/exec
      pods/portforward pods/proxy;
      create | core | pods/eviction;
      create delete deletecollection patch update | core | configmaps events
      persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets
      serviceaccounts services services/proxy;
      create | core | serviceaccounts/token;
      create delete deletecollection patch update | apps | daemonsets deployments
      deployments/rollback deployments/scale replicasets replicasets/scale statefulsets
      statefulsets/scale;
      create delete deletecollection patch update | autoscaling | horizontalpodautoscalers;
      create delete deletecollection patch update | batch | cronjobs jobs;
      create delete deletecollection patch update | extensions | daemonsets deployments
      deployments/rollback deployments/scale ingresses networkpolicies replicasets
      replicasets/scale replicationcontrollers/scale;
      create delete deletecollection patch update | policy | poddisruptionbudgets;
      create delete deletecollection patch update | networking.{api} | ingresses networkpolicies;
      create delete deletecollection get list patch update watch | coordination.{api} | leases;
      create delete deletecollection patch update | resource.{api} | resourceclaims
      resourceclaimtemplates;
    `,
  },
  {
    name: "system:aggregate-to-view",
    aggregatedTo: "view",
    rules: `
      get list watch | core | configmaps endpoints persistentvolumeclaims
      persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale
      serviceaccounts services services/status;
      get list watch | core | bindings events limitranges namespaces/status pods/log pods/status
      replicationcontrollers/status resourcequotas resourcequotas/status;
      get list watch | core | namespaces;
      get list watch | discovery.{api} | endpointslices;
      get list watch | apps | controllerrevisions daemonsets daemonsets/status deployments
      deployments/scale deployments/status replicasets replicasets/scale replicasets/status
      statefulsets statefulsets/scale statefulsets/status;
      get list watch | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status;
      get list watch | batch | cronjobs cronjobs/status jobs jobs/status;
      get list watch | extensions | daemonsets daemonsets/status deployments deployments/scale
      deployments/status ingresses ingresses/status networkpolicies replicasets
      replicasets/scale replicasets/status replicationcontrollers/scale;
      get list watch | policy | poddisruptionbudgets poddisruptionbudgets/status;
      get list watch | networking.{api} | ingresses ingresses/status networkpolicies;
      get list watch | resource.{api} | resourceclaims resourceclaims/status
      resourceclaimtemplates;
    `,
  },
  { name: "view", aggregatedTo: "edit", aggregates: "view" },
];
