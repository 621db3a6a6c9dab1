/** connect: subresources that proxy or stream to a kubelet, pod, service or node. */
export { connect, connectMethods } from "./connect.ts";
export type { ConnectRequest, Destination } from "./destination.ts";
