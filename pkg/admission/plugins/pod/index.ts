/** plugins/pod: pods. */
export { alwaysPullImages } from "./always-pull-images.ts";
export { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
export { extendedResourceToleration } from "./extended-resource-toleration.ts";
export { imagePolicyWebhook } from "./image-policy-webhook.ts";
export { limitPodHardAntiAffinityTopology } from "./limit-pod-hard-anti-affinity-topology.ts";
export { podNodeSelector } from "./pod-node-selector.ts";
export { podTolerationRestriction } from "./pod-toleration-restriction.ts";
export { podTopologyLabels } from "./pod-topology-labels.ts";
export { priority } from "./priority.ts";
export { runtimeClass } from "./runtime-class.ts";
export { serviceAccount } from "./service-account.ts";
