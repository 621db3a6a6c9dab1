import assert from "node:assert/strict";
import { admissionOrder } from "./order.ts";

describe("admission order", () => {
  it("is that of kube-apiserver 1.34", () => {
    const plugins = admissionOrder.filter(({ enabled }) => enabled !== "always");
    // Source: AllOrderedPlugins in pkg/kubeapiserver/options/plugins.go.
    const kubernetes =
      "AlwaysAdmit NamespaceAutoProvision NamespaceLifecycle NamespaceExists " +
      "LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount NodeRestriction " +
      "TaintNodesByCondition AlwaysPullImages ImagePolicyWebhook PodSecurity PodNodeSelector " +
      "Priority DefaultTolerationSeconds PodTolerationRestriction EventRateLimit " +
      "ExtendedResourceToleration DefaultStorageClass StorageObjectInUseProtection " +
      "OwnerReferencesPermissionEnforcement PersistentVolumeClaimResize RuntimeClass " +
      "CertificateApproval CertificateSigning ClusterTrustBundleAttest " +
      "CertificateSubjectRestriction DefaultIngressClass DenyServiceExternalIPs " +
      "PodTopologyLabels MutatingAdmissionPolicy MutatingAdmissionWebhook " +
      "ValidatingAdmissionPolicy ValidatingAdmissionWebhook ResourceQuota AlwaysDeny";
    assert.deepEqual(
      plugins.map(({ name }) => name),
      kubernetes.split(" "),
    );
  });
});
