/** Canonical form of Endpoints subsets. */
import type { EndpointAddress, EndpointPort, EndpointSubset } from "#kinds";
import { createHash } from "node:crypto";

/** Readiness by address. */
type Readiness = Map<EndpointAddress, boolean>;

/**
 * Repacks addresses and ports into the minimum number of subsets: one per set of ports with the same
 * addresses. An address that is not ready in any subset is not ready for the ports of that subset.
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const known = new Map<string, EndpointAddress>();
  const byPort = new Map<string, { port?: EndpointPort; readiness: Readiness }>();
  const add = (port: EndpointPort | undefined, address: EndpointAddress, isReady: boolean) => {
    const key = addressKey(address);
    const same = known.get(key) ?? address;
    known.set(key, same);
    const portKey = port === undefined ? "" : printPort(port);
    const entry = byPort.get(portKey) ?? {
      ...(port === undefined ? {} : { port }),
      readiness: new Map<EndpointAddress, boolean>(),
    };
    byPort.set(portKey, entry);
    entry.readiness.set(same, isReady && entry.readiness.get(same) !== false);
  };
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const port of ports.length === 0 ? [undefined] : ports) {
      for (const address of addresses) add(port, address, true);
      for (const address of notReadyAddresses) add(port, address, false);
    }
  }
  const groups = new Map<string, { ports: EndpointPort[]; readiness: Readiness }>();
  for (const { port, readiness } of byPort.values()) {
    const key = [...readiness]
      .map(([address, isReady]) => `${addressKey(address)} ${isReady}`)
      .sort()
      .join();
    const group = groups.get(key) ?? { ports: [], readiness };
    groups.set(key, group);
    if (port !== undefined) group.ports.push(port);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => subsetOf(group));
}

function subsetOf({
  ports,
  readiness,
}: {
  readonly ports: readonly EndpointPort[];
  readonly readiness: Readiness;
}): EndpointSubset {
  const sorted = [...readiness].sort(([a], [b]) => compare(addressKey(a), addressKey(b)));
  const addresses = sorted.filter(([, isReady]) => isReady).map(([address]) => address);
  const notReadyAddresses = sorted.filter(([, isReady]) => !isReady).map(([address]) => address);
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    ...(ports.length === 0 ? {} : { ports: inHashOrder(ports) }),
  };
}

/** Sorts ports like kube-controller-manager: by the MD5 hash of their go-spew text. */
function inHashOrder(ports: readonly EndpointPort[]): readonly EndpointPort[] {
  const hashOf = (port: EndpointPort) => createHash("md5").update(printPort(port)).digest("hex");
  return ports
    .map((port) => ({ port, hash: hashOf(port) }))
    .sort((a, b) => compare(a.hash, b.hash))
    .map(({ port }) => port);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function addressKey({ ip, targetRef }: EndpointAddress): string {
  return `${ip} ${targetRef?.uid ?? ""}`;
}

/** Prints a port like go-spew. */
function printPort({ name = "", port = 0, protocol = "", appProtocol }: EndpointPort): string {
  const fields = [
    `Name:(string)${name}`,
    `Port:(int32)${port}`,
    `Protocol:(v1.Protocol)${protocol}`,
    `AppProtocol:(*string)${appProtocol ?? "<nil>"}`,
  ];
  return `(v1.EndpointPort){${fields.join(" ")}}`;
}
