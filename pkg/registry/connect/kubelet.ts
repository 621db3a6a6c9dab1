import { plainFailure } from "#meta";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { coreObject } from "./lookup.ts";

export interface Kubelet {
  /** Name of the node. */
  readonly kubeletOf: string;
  readonly host: string;
  readonly port: string;
}

const defaultPort = 10_250;

/** Default of `--kubelet-preferred-address-types`: the first type of which the node has an address. */
const preferredTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/** The address and port of a node's kubelet. Throws 404 if the node does not exist. */
export async function kubeletOf(
  registry: RegistryContext,
  request: ResourceRequest,
  node: string,
): Promise<Kubelet> {
  const { status } = await coreObject(registry, request, { plural: "nodes", name: node });
  const addresses: readonly NodeAddress[] = status.addresses ?? [];
  const preferred = (registry.kubeletAddressTypes ?? preferredTypes)
    .map((type) => addresses.find((address) => address.type === type))
    .find((address) => address !== undefined);
  if (preferred === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
    throw plainFailure(`no preferred addresses found; known addresses: [${known}]`);
  }
  const port = Number(status.daemonEndpoints?.kubeletEndpoint?.Port ?? 0) || defaultPort;
  return { kubeletOf: node, host: preferred.address, port: String(port) };
}
