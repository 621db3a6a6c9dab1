/** Documents of a kubelet about its pods and itself. */
import { type Pod, statusesOf } from "#kinds";

/**
 * A pod as in `/runningpods`: names, images and ids of its running containers. Empty if none runs.
 */
export function runningPod(pod: Pod): readonly Pod[] {
  const { name, namespace, uid } = pod.metadata;
  const running = statusesOf(pod).filter(({ state }) => state?.running !== undefined);
  if (running.length === 0) return [];
  const containers = running.map((status) => ({
    name: status.name,
    image: status.imageID ?? "",
    resources: {},
  }));
  return [
    { metadata: { name, namespace, uid }, spec: { containers }, status: {} } as unknown as Pod,
  ];
}

/** KubeletConfiguration of kubelet 1.34, limited to fields that the simulation honors. */
export function kubeletConfiguration({
  capacity,
}: {
  readonly capacity: Readonly<Record<string, string>>;
}): object {
  return {
    kubeletconfig: {
      enableServer: true,
      syncFrequency: "1m0s",
      authentication: {
        x509: {},
        webhook: { enabled: true, cacheTTL: "2m0s" },
        anonymous: { enabled: false },
      },
      authorization: {
        mode: "Webhook",
        webhook: { cacheAuthorizedTTL: "5m0s", cacheUnauthorizedTTL: "30s" },
      },
      streamingConnectionIdleTimeout: "4h0m0s",
      nodeStatusUpdateFrequency: "10s",
      nodeStatusReportFrequency: "5m0s",
      nodeLeaseDurationSeconds: 40,
      maxPods: Number(capacity["pods"] ?? 110),
      evictionHard: {
        "imagefs.available": "15%",
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
      },
      containerRuntimeEndpoint: "simulated",
    },
  };
}
