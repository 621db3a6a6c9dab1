import { isGlobalUnicast, parseStrictIp } from "#base";
import { badRequest, serviceUnavailable } from "#meta";
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

type ProxyBackend = Pick<Destination, "scheme" | "host" | "port" | "peer" | "addresses">;

export async function podProxy(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = named(request, "pod");
  const pod = await coreObject(registry, request, { plural: "pods", name });
  const host: string = pod.status.podIPs?.[0]?.ip ?? pod.status.podIP ?? "";
  if (!isReachable(host)) throw badRequest("address not allowed");
  const first = (pod.spec.containers ?? []).find(({ ports }: any) => ports?.length > 0);
  const number = port || String(first?.ports[0].containerPort ?? "");
  return toBackend(connectRequest, {
    scheme: scheme || "http",
    host,
    port: number,
    peer: "backend",
  });
}

export async function nodeProxy(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = named(request, "node");
  const kubelet = await kubeletOf(registry, request, name);
  const addresses = await globalAddresses(kubelet.host, registry.resolveHost);
  if (port === "" || port === kubelet.port) {
    return toBackend(connectRequest, { scheme: "https", ...kubelet, addresses, peer: "kubelet" });
  }
  const place = { scheme: scheme || "http", host: kubelet.host, port, addresses } as const;
  return toBackend(connectRequest, { ...place, peer: "backend" });
}

/** A random ready endpoint of the service. Throws 503 if there is none. */
export async function serviceProxy(
  registry: RegistryContext,
  request: ResourceRequest,
  connectRequest: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = named(request, "service");
  const portName = await portNameOf(registry, request, { name, port });
  const { subsets = [] } = await coreObject(registry, request, { plural: "endpoints", name });
  const quoted = JSON.stringify(subsets.length === 0 ? name : request.name);
  const none = serviceUnavailable(`no endpoints available for service ${quoted}`);
  for (const { addresses = [], ports = [] } of shuffled(registry, subsets)) {
    const found = ports.find((each: any) => (each.name ?? "") === portName);
    if (found === undefined) continue;
    for (const address of shuffled(registry, addresses)) {
      if (!isReachable(address.ip)) continue;
      if (!(await isPodAddress(registry, request, address))) continue;
      const place = { host: address.ip, port: String(found.port), peer: "backend" } as const;
      return toBackend(connectRequest, { scheme: scheme || "http", ...place });
    }
  }
  throw none;
}

function named(request: ResourceRequest, what: string) {
  const found = splitName(request.name);
  if (found !== undefined) return found;
  throw badRequest(`invalid ${what} request ${JSON.stringify(request.name)}`);
}

/** The name of the service port; a number is looked up in the service. */
async function portNameOf(
  registry: RegistryContext,
  request: ResourceRequest,
  { name, port }: { readonly name: string; readonly port: string },
): Promise<string> {
  if (!/^\d+$/.test(port)) return port;
  const service = await coreObject(registry, request, { plural: "services", name });
  const found = (service.spec.ports ?? []).find((each: any) => each.port === Number(port));
  if (found !== undefined) return found.name ?? "";
  const quoted = JSON.stringify(name);
  throw serviceUnavailable(`no service port ${Number(port)} found for service ${quoted}`);
}

/** Many users can write Endpoints, so only addresses of existing pods are trusted. */
async function isPodAddress(
  registry: RegistryContext,
  request: ResourceRequest,
  { ip, targetRef }: any,
): Promise<boolean> {
  if (targetRef?.kind !== "Pod") return false;
  const namespace = targetRef.namespace || request.namespace;
  const where = { plural: "pods", name: targetRef.name };
  try {
    const { status } = await coreObject(registry, { ...request, namespace }, where);
    return (status.podIPs ?? []).some((each: any) => each.ip === ip);
  } catch {
    return false;
  }
}

function shuffled({ identities }: RegistryContext, all: readonly any[]): readonly any[] {
  const start = Math.floor(identities.chance() * all.length);
  return [...all.slice(start), ...all.slice(0, start)];
}

/**
 * Whether the address is global unicast: not loopback, link-local, multicast or unspecified. Leading zeros
 * are rejected, since resolvers parse them as octal.
 */
function isReachable(text: string): boolean {
  const address = parseStrictIp(text);
  return address !== undefined && isGlobalUnicast(address);
}

function toBackend({ rawPath, rawQuery }: ConnectRequest, place: ProxyBackend): Destination {
  return { ...place, path: rawPath, query: rawQuery, use: "proxy" };
}
