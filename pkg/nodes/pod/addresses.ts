import type { Pod, PodStatus } from "#kinds";

export interface Addresses {
  readonly hostIps: readonly string[];
  /** Undefined = the pod has had no sandbox. */
  readonly podIps: readonly string[] | undefined;
}

/** The fields of a pod's status that hold its addresses and those of its node. */
export function addressFields({ hostIps, podIps = [] }: Addresses): Partial<PodStatus> {
  return { ...listed("hostIP", hostIps), ...listed("podIP", podIps) };
}

/** A pod as its containers are told of it: with addresses that the API may not have yet. */
export function withAddresses(pod: Pod, addresses: Addresses): Pod {
  return { ...pod, status: { ...pod.status, ...addressFields(addresses) } };
}

/** The first address, and the list of all; nothing without any. */
function listed(name: "hostIP" | "podIP", ips: readonly string[]): Partial<PodStatus> {
  if (ips.length === 0) return {};
  return { [name]: ips[0], [`${name}s`]: ips.map((ip) => ({ ip })) };
}
