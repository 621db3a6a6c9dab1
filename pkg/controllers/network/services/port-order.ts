import type { EndpointPort } from "#kinds";
import { createHash } from "node:crypto";

/**
 * Ports in the order of kube-controller-manager: by the MD5 sum of what Go's spew prints of them.
 * Slices with equal ports have equal keys.
 */
export function inPortOrder(ports: readonly EndpointPort[]): readonly EndpointPort[] {
  if (ports.length < 2) return ports;
  const hashed = ports.map((port) => ({ port, hash: hashOf(port) }));
  hashed.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0));
  return hashed.map(({ port }) => port);
}

/** A text that is equal for equal sets of ports. */
export function portsKey(ports: readonly EndpointPort[] | null | undefined): string {
  return inPortOrder(ports ?? [])
    .map(printed)
    .join();
}

function hashOf(port: EndpointPort): string {
  return createHash("md5").update(printed(port)).digest("hex");
}

function printed({ name, protocol, port, appProtocol }: EndpointPort): string {
  const fields = [
    `Name:(*string)${name ?? "<nil>"}`,
    `Protocol:(*v1.Protocol)${protocol ?? "<nil>"}`,
    `Port:(*int32)${port ?? "<nil>"}`,
    `AppProtocol:(*string)${appProtocol ?? "<nil>"}`,
  ];
  return `(v1.EndpointPort){${fields.join(" ")}}`;
}
