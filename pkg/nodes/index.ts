/** nodes: simulated kubelets: nodes, their heartbeats, and pods that run as seen from the API. */
export type { KubeletServing } from "./kubelet/kubelet-server.ts";
export { defaultNodesSettings, type NodesContext, type NodesSettings } from "./settings.ts";
export type { StageClients } from "./stages/play/stage-clients.ts";
export { ownPodCidrs } from "./pod-addresses.ts";
export { runNodes } from "./simulated-nodes.ts";
export { isMeasured, nodeItself, podUsage } from "./usage/container-usage.ts";
