import type { AdmissionPlugin } from "../../plugin.ts";

/**
 * Copies topology labels of the node to a pod that is bound to it. Without effect: the feature gate
 * that activates it, PodTopologyLabelsAdmission, is off in Kubernetes 1.34.
 */
export const podTopologyLabels: AdmissionPlugin = { name: "PodTopologyLabels", enabled: "default" };
