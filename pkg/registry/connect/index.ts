/** connect: subresources that are streams to a kubelet, pod, service or node. */
export { connect, streamMethods } from "./connect.ts";
export type { ConnectRequest, Destination } from "./destination.ts";
