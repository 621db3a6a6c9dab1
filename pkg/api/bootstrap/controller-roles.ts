import type { DefaultRole } from "./notation.ts";

/** ClusterRoles of the controllers of kube-controller-manager. */
export const controllerRoles: readonly DefaultRole[] = [
  {
    name: "system:controller:attachdetach-controller",
    rules: `
      list watch | core | persistentvolumeclaims persistentvolumes;
      get list watch | core | nodes;
      patch update | core | nodes/status;
      list watch | core | pods;
      create patch update | core events.{api} | events;
      create delete get list watch | storage.{api} | volumeattachments;
      get list watch | storage.{api} | csidrivers;
      get list watch | storage.{api} | csinodes;
    `,
  },
  {
    name: "system:controller:certificate-controller",
    rules: `
      delete get list watch | certificates.{api} | certificatesigningrequests;
      update | certificates.{api} | certificatesigningrequests/approval
      certificatesigningrequests/status;
      approve | certificates.{api} | signers | {label}/kube-apiserver-client-kubelet;
      sign | certificates.{api} | signers | {label}/kube-apiserver-client
      {label}/kube-apiserver-client-kubelet {label}/kubelet-serving {label}/legacy-unknown;
      create | authorization.{api} | subjectaccessreviews;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:clusterrole-aggregation-controller",
    rules: `
      escalate get list patch update watch | rbac.authorization.{api} | clusterroles;
    `,
  },
  {
    name: "system:controller:cronjob-controller",
    rules: `
      get list update watch | batch | cronjobs;
      create delete get list patch update watch | batch | jobs;
      update | batch | cronjobs/status;
      update | batch | cronjobs/finalizers;
      delete list watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:daemon-set-controller",
    rules: `
      get list watch | apps extensions | daemonsets;
      update | apps extensions | daemonsets/status;
      update | apps extensions | daemonsets/finalizers;
      list watch | core | nodes;
      create delete list patch watch | core | pods;
      create | core | pods/binding;
      create delete get list patch update watch | apps | controllerrevisions;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:deployment-controller",
    rules: `
      get list update watch | apps extensions | deployments;
      update | apps extensions | deployments/status;
      update | apps extensions | deployments/finalizers;
      create delete get list patch update watch | apps extensions | replicasets;
      get list update watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:device-taint-eviction-controller",
    gate: "DRADeviceTaints",
    rules: `
      delete get list watch | core | pods;
      patch update | core | pods/status;
      get list watch | resource.{api} | resourceclaims;
      get list watch | resource.{api} | resourceslices;
      get list watch | resource.{api} | deviceclasses;
      get list watch | resource.{api} | devicetaintrules;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:disruption-controller",
    rules: `
      get list watch | apps extensions | deployments;
      get list watch | apps extensions | replicasets;
      get list watch | core | replicationcontrollers;
      get list watch | policy | poddisruptionbudgets;
      get list watch | apps | statefulsets;
      update | policy | poddisruptionbudgets/status;
      patch update | core | pods/status;
      get | * | */scale;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:endpoint-controller",
    rules: `
      get list watch | core | pods services;
      create delete get list update watch | core | endpoints;
      create | core | endpoints/restricted;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:endpointslice-controller",
    rules: `
      get list watch | core | nodes pods services;
      update | core | services/finalizers;
      create delete get list update watch | discovery.{api} | endpointslices;
      create | discovery.{api} | endpointslices/restricted;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:endpointslicemirroring-controller",
    rules: `
      get list watch | core | endpoints services;
      update | core | services/finalizers;
      update | core | endpoints/finalizers;
      create delete get list update watch | discovery.{api} | endpointslices;
      create | discovery.{api} | endpointslices/restricted;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:ephemeral-volume-controller",
    rules: `
      get list watch | core | pods;
      update | core | pods/finalizers;
      create get list watch | core | persistentvolumeclaims;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:expand-controller",
    rules: `
      get list patch update watch | core | persistentvolumes;
      patch update | core | persistentvolumeclaims/status;
      get list watch | core | persistentvolumeclaims;
      create patch update | core events.{api} | events;
      get | core | services;
    `,
  },
  {
    name: "system:controller:generic-garbage-collector",
    rules: `
      delete get list patch update watch | * | *;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:horizontal-pod-autoscaler",
    rules: `
      get list watch | autoscaling | horizontalpodautoscalers;
      update | autoscaling | horizontalpodautoscalers/status;
      get update | * | */scale;
      list watch | core | pods;
      list watch | metrics.{api} | pods;
      get list watch | custom.metrics.{api} | *;
      get list watch | external.metrics.{api} | *;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:job-controller",
    rules: `
      get list patch update watch | batch | jobs;
      update | batch | jobs/status;
      update | batch | jobs/finalizers;
      create delete list patch watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:kube-apiserver-serving-clustertrustbundle-publisher",
    gate: "ClusterTrustBundle",
    rules: `
      attest | certificates.{api} | signers | {label}/kube-apiserver-serving;
      create delete list update watch | certificates.{api} | clustertrustbundles;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:legacy-service-account-token-cleaner",
    rules: `
      get | core | configmaps | kube-apiserver-legacy-service-account-token-tracking;
      delete patch | core | secrets;
    `,
  },
  {
    name: "system:controller:namespace-controller",
    rules: `
      delete get list watch | core | namespaces;
      update | core | namespaces/finalize namespaces/status;
      delete deletecollection get list watch | * | *;
    `,
  },
  {
    name: "system:controller:node-controller",
    rules: `
      delete get list patch update watch | core | nodes;
      patch update | core | nodes/status;
      patch update | core | pods/status;
      delete get list watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:persistent-volume-binder",
    rules: `
      create delete get list update watch | core | persistentvolumes;
      update | core | persistentvolumes/status;
      get list update watch | core | persistentvolumeclaims;
      update | core | persistentvolumeclaims/status;
      create delete get list watch | core | pods;
      get list watch | storage.{api} | storageclasses;
      list watch | core | nodes;
      create patch update | core events.{api} | events;
      watch | core | events;
      get | core | services;
    `,
  },
  {
    name: "system:controller:pod-garbage-collector",
    rules: `
      delete list watch | core | pods;
      get list watch | core | nodes;
      patch | core | pods/status;
    `,
  },
  {
    name: "system:controller:podcertificaterequestcleaner",
    gate: "PodCertificateRequest",
    rules: `
      delete get list watch | certificates.{api} | podcertificaterequests;
    `,
  },
  {
    name: "system:controller:pv-protection-controller",
    rules: `
      get list update watch | core | persistentvolumes;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:pvc-protection-controller",
    rules: `
      get list update watch | core | persistentvolumeclaims;
      get list watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:replicaset-controller",
    rules: `
      get list update watch | apps extensions | replicasets;
      update | apps extensions | replicasets/status;
      update | apps extensions | replicasets/finalizers;
      create delete list patch watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:replication-controller",
    rules: `
      get list update watch | core | replicationcontrollers;
      update | core | replicationcontrollers/status;
      update | core | replicationcontrollers/finalizers;
      create delete list patch watch | core | pods;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:resource-claim-controller",
    rules: `
      get list watch | core | pods;
      update | core | pods/finalizers;
      create delete get list watch | resource.{api} | resourceclaims;
      patch update | resource.{api} | resourceclaims resourceclaims/status;
      patch update | core | pods/status;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:resourcequota-controller",
    rules: `
      list watch | * | *;
      update | core | resourcequotas/status;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:root-ca-cert-publisher",
    rules: `
      create update | core | configmaps;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:route-controller",
    rules: `
      list watch | core | nodes;
      patch | core | nodes/status;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:selinux-warning-controller",
    rules: `
      create patch update | core events.{api} | events;
      get list watch | core | persistentvolumes;
      get list watch | core | persistentvolumeclaims;
      get list watch | core | pods;
      get list watch | storage.{api} | csidrivers;
    `,
  },
  {
    name: "system:controller:service-account-controller",
    rules: `
      create | core | serviceaccounts;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:service-cidrs-controller",
    rules: `
      get list patch update watch | networking.{api} | servicecidrs;
      patch update | networking.{api} | servicecidrs/finalizers;
      patch update | networking.{api} | servicecidrs/status;
      get list watch | networking.{api} | ipaddresses;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:service-controller",
    rules: `
      get list watch | core | services;
      patch update | core | services/status;
      list watch | core | nodes;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:statefulset-controller",
    rules: `
      list watch | core | pods;
      get list watch | apps | statefulsets;
      update | apps | statefulsets/status;
      update | apps | statefulsets/finalizers;
      create delete get patch update | core | pods;
      create delete get list patch update watch | apps | controllerrevisions;
      create get list watch | core | persistentvolumeclaims;
      create patch update | core events.{api} | events;
      delete update | core | persistentvolumeclaims;
      update | core | pods/finalizers;
    `,
  },
  {
    name: "system:controller:storage-version-garbage-collector",
    gate: "StorageVersionAPI",
    rules: `
      get list watch | coordination.{api} | leases;
      delete get list patch update watch | internal.apiserver.{api} | storageversions;
      get patch update | internal.apiserver.{api} | storageversions/status;
    `,
  },
  {
    name: "system:controller:storage-version-migrator-controller",
    gate: "StorageVersionMigrator",
    rules: `
      create list patch watch | * | *;
      update | storagemigration.{api} | storageversionmigrations/status;
    `,
  },
  {
    name: "system:controller:ttl-after-finished-controller",
    rules: `
      delete get list watch | batch | jobs;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:ttl-controller",
    rules: `
      list patch update watch | core | nodes;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:validatingadmissionpolicy-status-controller",
    rules: `
      get list watch | admissionregistration.{api} | validatingadmissionpolicies;
      get patch update | admissionregistration.{api} | validatingadmissionpolicies/status;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:controller:volumeattributesclass-protection-controller",
    rules: `
      get list watch | core | persistentvolumeclaims;
      get list watch | core | persistentvolumes;
      get list update watch | storage.{api} | volumeattributesclasses;
      create patch update | core events.{api} | events;
    `,
  },
];
