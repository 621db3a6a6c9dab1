import { posix } from "node:path";
import { isGlobalUnicast, parseStrictIp } from "#base";
import { badRequest, serviceUnavailable } from "#meta";
import { escapePath, type NamespacedName } from "#request";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { type ConnectRequest, type Destination, splitName } from "./destination.ts";
import { globalAddresses } from "./global-addresses.ts";
import { kubeletOf } from "./kubelet.ts";
import { coreObject } from "./lookup.ts";

/**
 * The proxy subresources of pods, nodes and services. The name in the path may include port and scheme:
 * `name:port` or `https:name:port`.
 */

type ProxyBackend = Pick<
  Destination,
  "scheme" | "host" | "port" | "peer" | "addresses" | "pod" | "kubeletOf"
>;

export async function podProxy(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = parseTarget(request, "pod");
  const pod = await coreObject(registry, request, { plural: "pods", name });
  const host: string = pod.status.podIPs?.[0]?.ip ?? pod.status.podIP ?? "";
  if (!isReachable(host)) throw badRequest("address not allowed");
  const container = (pod.spec.containers ?? []).find(({ ports }: any) => ports?.length > 0);
  return toBackend(connectRequest, {
    scheme: scheme || "http",
    host,
    pod: { namespace: request.namespace, name },
    port: port || String(container?.ports[0].containerPort ?? ""),
    peer: "backend",
  });
}

export async function nodeProxy(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = parseTarget(request, "node");
  const kubelet = await kubeletOf(registry, request, name);
  const addresses = await globalAddresses(kubelet.host, registry.resolveHost);
  if (port === "" || port === kubelet.port) {
    return toBackend(connectRequest, { scheme: "https", ...kubelet, addresses, peer: "kubelet" });
  }
  return toBackend(connectRequest, {
    scheme: scheme || "http",
    host: kubelet.host,
    port,
    addresses,
    peer: "backend",
  });
}

/** A random ready endpoint of the service. Throws 503 if there is none. */
export async function serviceProxy(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = parseTarget(request, "service");
  const portName = await portNameOf(registry, request, { name, port });
  const { subsets = [] } = await coreObject(registry, request, { plural: "endpoints", name });
  const quoted = JSON.stringify(subsets.length === 0 ? name : request.name);
  for (const { addresses = [], ports = [] } of rotated(registry, subsets)) {
    const endpointPort = ports.find((candidate: any) => (candidate.name ?? "") === portName);
    if (endpointPort === undefined) continue;
    for (const address of rotated(registry, addresses)) {
      if (!isReachable(address.ip)) continue;
      const pod = await podWithAddress(registry, request, address);
      if (pod === undefined) continue;
      return toBackend(connectRequest, {
        scheme: scheme || "http",
        host: address.ip,
        pod,
        port: String(endpointPort.port),
        peer: "backend",
      });
    }
  }
  throw serviceUnavailable(`no endpoints available for service ${quoted}`);
}

function parseTarget(request: ResourceRequest, type: "pod" | "node" | "service") {
  const target = splitName(request.name);
  if (target !== undefined) return target;
  throw badRequest(`invalid ${type} request ${JSON.stringify(request.name)}`);
}

/** The name of the service port; a number is looked up in the service. */
async function portNameOf(
  registry: RegistryContext,
  request: ResourceRequest,
  { name, port }: { readonly name: string; readonly port: string },
): Promise<string> {
  if (!/^\d+$/.test(port)) return port;
  const service = await coreObject(registry, request, { plural: "services", name });
  const servicePort = (service.spec.ports ?? []).find(
    (candidate: any) => candidate.port === Number(port),
  );
  if (servicePort !== undefined) return servicePort.name ?? "";
  const quoted = JSON.stringify(name);
  throw serviceUnavailable(`no service port ${Number(port)} found for service ${quoted}`);
}

/**
 * The pod to which an address of Endpoints belongs. Other addresses are not trusted, since many users
 * can write Endpoints.
 */
async function podWithAddress(
  registry: RegistryContext,
  request: ResourceRequest,
  { ip, targetRef }: any,
): Promise<NamespacedName | undefined> {
  if (targetRef?.kind !== "Pod") return undefined;
  const namespace = targetRef.namespace || request.namespace;
  const { name } = targetRef;
  try {
    const { status } = await coreObject(
      registry,
      { ...request, namespace },
      { plural: "pods", name },
    );
    const hasAddress = (status.podIPs ?? []).some((podIP: any) => podIP.ip === ip);
    return hasAddress ? { namespace, name } : undefined;
  } catch {
    return undefined;
  }
}

/** The items from a random one on, followed by those before it. */
function rotated({ identities }: RegistryContext, items: readonly any[]): readonly any[] {
  const start = Math.floor(identities.chance() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

/**
 * Whether the address is global unicast: not loopback, link-local, multicast or unspecified. Leading zeros
 * are rejected, since resolvers parse them as octal.
 */
function isReachable(text: string): boolean {
  const address = parseStrictIp(text);
  return address !== undefined && isGlobalUnicast(address);
}

/** The path without empty and dot segments. */
function toBackend({ path, rawQuery }: ConnectRequest, backend: ProxyBackend): Destination {
  const clean = path === "" ? "" : escapePath(posix.join("/", path));
  return { ...backend, path: clean, query: rawQuery, use: "proxy" };
}
