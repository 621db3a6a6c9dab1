import type { EndpointPort } from "#kinds";
import { createHash } from "node:crypto";

/**
 * Sorts ports like kube-controller-manager: by the MD5 hash of their go-spew text.
 */
export function inPortOrder(ports: readonly EndpointPort[]): readonly EndpointPort[] {
  if (ports.length < 2) return ports;
  const hashed = ports.map((port) => ({ port, hash: hashOf(port) }));
  hashed.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0));
  return hashed.map(({ port }) => port);
}

/** Key of a set of ports, independent of their order. */
export function portsKey(ports: readonly EndpointPort[] | null | undefined): string {
  return inPortOrder(ports ?? [])
    .map(printPort)
    .join();
}

function hashOf(port: EndpointPort): string {
  return createHash("md5").update(printPort(port)).digest("hex");
}

function printPort({ name, protocol, port, appProtocol }: EndpointPort): string {
  const fields = [
    `Name:(*string)${name ?? "<nil>"}`,
    `Protocol:(*v1.Protocol)${protocol ?? "<nil>"}`,
    `Port:(*int32)${port ?? "<nil>"}`,
    `AppProtocol:(*string)${appProtocol ?? "<nil>"}`,
  ];
  return `(v1.EndpointPort){${fields.join(" ")}}`;
}
