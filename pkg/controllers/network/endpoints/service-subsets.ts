/** Subsets of the Endpoints of a Service. */
import { formatIp, ipFamily, parseIp } from "#base";
import type { EndpointAddress, EndpointPort, EndpointSubset, Pod, Service } from "#kinds";
import { isReady } from "../../pods/pod-state.ts";
import { endpointHostname, isEndpoint, targetPortOf } from "../services/pod-endpoints.ts";
import { repackSubsets } from "../services/repack-subsets.ts";

/** Maximum number of addresses in all subsets. */
export const maxCapacity = 1_000;

/** Endpoints subsets of a Service's pods. */
export function subsetsOf(service: Service, pods: readonly Pod[]): readonly EndpointSubset[] {
  const { ports = [], clusterIP, publishNotReadyAddresses: publishes = false } = service.spec ?? {};
  const subsets: EndpointSubset[] = [];
  for (const pod of pods) {
    const address = isEndpoint(pod, publishes) ? addressOf(service, pod) : undefined;
    if (address === undefined) continue;
    const field = publishes || isReady(pod) ? "addresses" : "notReadyAddresses";
    if (ports.length === 0 && clusterIP === "None") subsets.push({ [field]: [address] });
    for (const servicePort of ports) {
      const port = targetPortOf(pod, servicePort);
      if (port === undefined) continue;
      const { name, protocol = "TCP", appProtocol } = servicePort;
      const endpointPort: EndpointPort = {
        ...(name === undefined || name === "" ? {} : { name }),
        port,
        protocol,
        ...(appProtocol === undefined ? {} : { appProtocol }),
      };
      subsets.push({ [field]: [address], ports: [endpointPort] });
    }
  }
  return repackSubsets(subsets);
}

/** The pod's address of the Service's first IP family; undefined = none. */
function addressOf(service: Service, pod: Pod): EndpointAddress | undefined {
  const { ipFamilies = [], clusterIP = "" } = service.spec ?? {};
  const { podIP = "", podIPs = [] } = pod.status ?? {};
  const hasClusterIp = clusterIP !== "" && clusterIP !== "None";
  const family = ipFamilies[0] ?? ipFamily(hasClusterIp ? clusterIP : podIP);
  const found = podIPs.find(({ ip }) => ipFamily(ip) === family);
  const parsed = found && parseIp(found.ip);
  if (parsed === undefined) return undefined;
  const { namespace = "", name, uid } = pod.metadata;
  const hostname = endpointHostname(pod, service);
  const { nodeName = "" } = pod.spec ?? {};
  return {
    ip: formatIp(parsed),
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === "" ? {} : { nodeName }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

export function countAddresses(subsets: readonly EndpointSubset[]): number {
  return subsets.reduce(
    (sum, { addresses = [], notReadyAddresses = [] }) =>
      sum + addresses.length + notReadyAddresses.length,
    0,
  );
}

/**
 * Drops addresses beyond the capacity: not ready ones first, then ready ones, from each subset in proportion.
 */
export function truncateSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  if (countAddresses(subsets) <= maxCapacity) return subsets;
  const count = (field: "addresses" | "notReadyAddresses") =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  const ready = count("addresses");
  const cutsReady = ready > maxCapacity;
  const field = cutsReady ? "addresses" : "notReadyAddresses";
  const limit = cutsReady ? maxCapacity : maxCapacity - ready;
  const total = count(field);
  let left = limit;
  return subsets.map((subset) => {
    const own = subset[field] ?? [];
    const kept = own.slice(0, Math.min(Math.ceil((own.length / total) * limit), left));
    left -= kept.length;
    const { addresses = [], ports } = subset;
    const readyKept = cutsReady ? kept : addresses;
    return {
      ...(readyKept.length === 0 ? {} : { addresses: readyKept }),
      ...(cutsReady || kept.length === 0 ? {} : { notReadyAddresses: kept }),
      ...(ports === undefined ? {} : { ports }),
    };
  });
}

/** Whether two lists of subsets are equal, ignoring resourceVersions of target references. */
export function isSameSubsets(
  left: readonly EndpointSubset[],
  right: readonly EndpointSubset[],
): boolean {
  return subsetsKey(left) === subsetsKey(right);
}

function subsetsKey(subsets: readonly EndpointSubset[]): string {
  const address = ({ ip, hostname = "", nodeName = "", targetRef }: EndpointAddress) => {
    const { kind, namespace, name, uid } = targetRef ?? {};
    return [ip, hostname, nodeName, kind, namespace, name, uid];
  };
  const port = ({ name = "", port: number, protocol, appProtocol }: EndpointPort) => [
    name,
    number,
    protocol,
    appProtocol,
  ];
  return JSON.stringify(
    subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
      addresses.map(address),
      notReadyAddresses.map(address),
      ports.map(port),
    ]),
  );
}
