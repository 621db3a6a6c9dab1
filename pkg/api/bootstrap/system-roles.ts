import type { DefaultRole } from "./notation.ts";

/** Default ClusterRoles of cluster components and basic users. */
export const systemRoles: readonly DefaultRole[] = [
  {
    name: "system:auth-delegator",
    rules: `
      create | authentication.{api} | tokenreviews;
      create | authorization.{api} | subjectaccessreviews;
    `,
  },
  {
    name: "system:basic-user",
    rules: `
      create | authorization.{api} | selfsubjectaccessreviews selfsubjectrulesreviews;
      create | authentication.{api} | selfsubjectreviews;
    `,
  },
  {
    name: "system:certificates.{api}:certificatesigningrequests:nodeclient",
    rules: `
      create | certificates.{api} | certificatesigningrequests/nodeclient;
    `,
  },
  {
    name: "system:certificates.{api}:certificatesigningrequests:selfnodeclient",
    rules: `
      create | certificates.{api} | certificatesigningrequests/selfnodeclient;
    `,
  },
  {
    name: "system:certificates.{api}:kube-apiserver-client-approver",
    rules: `
      approve | certificates.{api} | signers | {label}/kube-apiserver-client;
    `,
  },
  {
    name: "system:certificates.{api}:kube-apiserver-client-kubelet-approver",
    rules: `
      approve | certificates.{api} | signers | {label}/kube-apiserver-client-kubelet;
    `,
  },
  {
    name: "system:certificates.{api}:kubelet-serving-approver",
    rules: `
      approve | certificates.{api} | signers | {label}/kubelet-serving;
    `,
  },
  {
    name: "system:certificates.{api}:legacy-unknown-approver",
    rules: `
      approve | certificates.{api} | signers | {label}/legacy-unknown;
    `,
  },
  {
    name: "system:cluster-trust-bundle-discovery",
    gate: "ClusterTrustBundle",
    rules: `
      get list watch | certificates.{api} | clustertrustbundles;
    `,
  },
  {
    name: "system:discovery",
    rules: `
      get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version
      /version/;
    `,
  },
  {
    name: "system:heapster",
    rules: `
      get list watch | core | events namespaces nodes pods;
      get list watch | extensions | deployments;
    `,
  },
  {
    name: "system:kube-aggregator",
    rules: `
      get list watch | core | endpoints services;
    `,
  },
  {
    name: "system:kube-controller-manager",
    rules: `
      create patch update | core events.{api} | events;
      create | coordination.{api} | leases;
      get update | coordination.{api} | leases | kube-controller-manager;
      create | core | secrets serviceaccounts;
      delete | core | secrets;
      get | core | configmaps namespaces secrets serviceaccounts;
      update | core | secrets serviceaccounts;
      create | authentication.{api} | tokenreviews;
      create | authorization.{api} | subjectaccessreviews;
      list watch | * | *;
      create | core | serviceaccounts/token;
    `,
  },
  {
    name: "system:kube-dns",
    rules: `
      list watch | core | endpoints services;
    `,
  },
  {
    name: "system:kube-scheduler",
    rules: `
      create patch update | core events.{api} | events;
      create | coordination.{api} | leases;
      get list update watch | coordination.{api} | leases | kube-scheduler;
      create delete deletecollection get list patch update watch | coordination.{api} |
      leasecandidates;
      get list watch | core | nodes;
      delete get list watch | core | pods;
      create | core | bindings pods/binding;
      patch update | core | pods/status;
      get list watch | core | replicationcontrollers services;
      get list watch | apps extensions | replicasets;
      get list watch | apps | statefulsets;
      get list watch | policy | poddisruptionbudgets;
      get list watch | core | persistentvolumeclaims persistentvolumes;
      create | authentication.{api} | tokenreviews;
      create | authorization.{api} | subjectaccessreviews;
      get list watch | storage.{api} | csinodes;
      get list watch | storage.{api} | volumeattachments;
      get list watch | core | namespaces;
      get list watch | storage.{api} | csidrivers;
      get list watch | storage.{api} | csistoragecapacities;
      get list watch | resource.{api} | deviceclasses;
      get list patch update watch | resource.{api} | resourceclaims;
      get list patch update watch | resource.{api} | resourceclaims/status;
      update | core | pods/finalizers;
      get list watch | resource.{api} | resourceslices;
      [DRAExtendedResource] create delete | resource.{api} | resourceclaims;
      [DRADeviceTaints] get list watch | resource.{api} | devicetaintrules;
    `,
  },
  {
    name: "system:kubelet-api-admin",
    rules: `
      get list watch | core | nodes;
      proxy | core | nodes;
      * | core | nodes/log nodes/metrics nodes/proxy nodes/stats;
      [KubeletFineGrainedAuthz] * | core | nodes/configz nodes/healthz nodes/pods;
    `,
  },
  {
    name: "system:monitoring",
    rules: `
      get | /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*;
      get | core | nodes/metrics;
      [ComponentFlagz] get | /flagz;
      [ComponentStatusz] get | /statusz;
    `,
  },
  {
    name: "system:node",
    rules: `
      create | authentication.{api} | tokenreviews;
      create | authorization.{api} | localsubjectaccessreviews subjectaccessreviews;
      get list watch | core | services;
      create get list watch | core | nodes;
      patch update | core | nodes/status;
      patch update | core | nodes;
      create patch update | core | events;
      get list watch | core | pods;
      create delete | core | pods;
      patch update | core | pods/status;
      create | core | pods/eviction;
      get list watch | core | configmaps secrets;
      get | core | persistentvolumeclaims persistentvolumes;
      get | core | endpoints;
      create get list watch | certificates.{api} | certificatesigningrequests;
      create delete get patch update | coordination.{api} | leases;
      get | storage.{api} | volumeattachments;
      create | core | serviceaccounts/token;
      get patch update | core | persistentvolumeclaims/status;
      get list watch | storage.{api} | csidrivers;
      create delete get patch update | storage.{api} | csinodes;
      get list watch | node.{api} | runtimeclasses;
      get | resource.{api} | resourceclaims;
      deletecollection | resource.{api} | resourceslices;
      [ClusterTrustBundle] get list watch | certificates.{api} | clustertrustbundles;
      [KubeletServiceAccountTokenForCredentialProviders] get | core | serviceaccounts;
      [PodCertificateRequest] create get list watch | certificates.{api} | podcertificaterequests;
    `,
  },
  {
    name: "system:node-bootstrapper",
    rules: `
      create get list watch | certificates.{api} | certificatesigningrequests;
    `,
  },
  {
    name: "system:node-problem-detector",
    rules: `
      get | core | nodes;
      patch | core | nodes/status;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:node-proxier",
    rules: `
      list watch | core | endpoints services;
      get list watch | core | nodes;
      create patch update | core events.{api} | events;
      list watch | networking.{api} | servicecidrs;
      list watch | discovery.{api} | endpointslices;
    `,
  },
  {
    name: "system:persistent-volume-provisioner",
    rules: `
      create delete get list watch | core | persistentvolumes;
      get list update watch | core | persistentvolumeclaims;
      get list watch | storage.{api} | storageclasses;
      watch | core | events;
      create patch update | core events.{api} | events;
    `,
  },
  {
    name: "system:public-info-viewer",
    rules: `
      get | /healthz /livez /readyz /version /version/;
    `,
  },
  {
    name: "system:service-account-issuer-discovery",
    rules: `
      get | /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks
      /openid/v1/jwks/;
    `,
  },
  {
    name: "system:volume-scheduler",
    rules: `
      get list patch update watch | core | persistentvolumes;
      get list watch | storage.{api} | storageclasses;
      get list patch update watch | core | persistentvolumeclaims;
    `,
  },
];
