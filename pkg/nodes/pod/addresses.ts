import type { Pod, PodStatus } from "#kinds";

export interface Addresses {
  readonly hostIps: readonly string[];
  /** Undefined = no sandbox yet. */
  readonly podIps: readonly string[] | undefined;
}

/** Address fields of a pod's status: its own and those of its node. */
export function addressFields({ hostIps, podIps = [] }: Addresses): Partial<PodStatus> {
  return { ...listed("hostIP", hostIps), ...listed("podIP", podIps) };
}

/** The pod with its current addresses, which the API may lack; input of the downward API. */
export function withAddresses(pod: Pod, addresses: Addresses): Pod {
  return { ...pod, status: { ...pod.status, ...addressFields(addresses) } };
}

/** Singular and plural field; {} without addresses. */
function listed(name: "hostIP" | "podIP", ips: readonly string[]): Partial<PodStatus> {
  if (ips.length === 0) return {};
  return { [name]: ips[0], [`${name}s`]: ips.map((ip) => ({ ip })) };
}
