import { isIP } from "node:net";
import { badRequest, serviceUnavailable } from "#meta";
import type { Target } from "../contract.ts";
import type { Environment } from "../context.ts";
import { type ConnectRequest, type Destination, splitName } from "./destination.ts";
import { kubeletOf } from "./kubelet.ts";
import { coreObject } from "./lookup.ts";

/**
 * Proxies to what runs in the cluster. The name in the path may say more than the name of the
 * object: `name:port` or `https:name:port`.
 */

type Place = Pick<Destination, "scheme" | "host" | "port" | "peer">;

export async function podProxy(
  environment: Environment,
  target: Target,
  request: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = named(target, "pod");
  const pod = await coreObject(environment, target, { plural: "pods", name });
  const host: string = pod.status.podIPs?.[0]?.ip ?? pod.status.podIP ?? "";
  if (!isReachable(host)) throw badRequest("address not allowed");
  const first = (pod.spec.containers ?? []).find(({ ports }: any) => ports?.length > 0);
  const number = port || String(first?.ports[0].containerPort ?? "");
  return toBackend(request, { scheme: scheme || "http", host, port: number, peer: "backend" });
}

export async function nodeProxy(
  environment: Environment,
  target: Target,
  request: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = named(target, "node");
  const kubelet = await kubeletOf(environment, target, name);
  if (port === "" || port === kubelet.port) {
    return toBackend(request, { scheme: "https", ...kubelet, peer: "kubelet" });
  }
  const { host } = kubelet;
  if (isIP(host) !== 0 && !isReachable(host)) throw badRequest("address not allowed");
  return toBackend(request, { scheme: scheme || "http", host, port, peer: "backend" });
}

/** One of the service's pods, at random. */
export async function serviceProxy(
  environment: Environment,
  target: Target,
  request: ConnectRequest,
): Promise<Destination> {
  const { scheme, name, port } = named(target, "service");
  const portName = await portNameOf(environment, target, { name, port });
  const { subsets = [] } = await coreObject(environment, target, { plural: "endpoints", name });
  const quoted = JSON.stringify(subsets.length === 0 ? name : target.name);
  const none = serviceUnavailable(`no endpoints available for service ${quoted}`);
  for (const { addresses = [], ports = [] } of shuffled(environment, subsets)) {
    const found = ports.find((each: any) => (each.name ?? "") === portName);
    if (found === undefined) continue;
    for (const address of shuffled(environment, addresses)) {
      if (!(await isPodAddress(environment, target, address))) continue;
      const place = { host: address.ip, port: String(found.port), peer: "backend" } as const;
      return toBackend(request, { scheme: scheme || "http", ...place });
    }
  }
  throw none;
}

function named(target: Target, what: string) {
  const found = splitName(target.name);
  if (found !== undefined) return found;
  throw badRequest(`invalid ${what} request ${JSON.stringify(target.name)}`);
}

/** A number stands for the service's port of that number. */
async function portNameOf(
  environment: Environment,
  target: Target,
  { name, port }: { readonly name: string; readonly port: string },
): Promise<string> {
  if (!/^\d+$/.test(port)) return port;
  const service = await coreObject(environment, target, { plural: "services", name });
  const found = (service.spec.ports ?? []).find((each: any) => each.port === Number(port));
  if (found !== undefined) return found.name ?? "";
  const quoted = JSON.stringify(name);
  throw serviceUnavailable(`no service port ${Number(port)} found for service ${quoted}`);
}

/** Endpoints can be written by many; only those of pods that are there are trusted. */
async function isPodAddress(
  environment: Environment,
  target: Target,
  { ip, targetRef }: any,
): Promise<boolean> {
  if (targetRef?.kind !== "Pod") return false;
  const namespace = targetRef.namespace || target.namespace;
  const where = { plural: "pods", name: targetRef.name };
  try {
    const { status } = await coreObject(environment, { ...target, namespace }, where);
    return (status.podIPs ?? []).some((each: any) => each.ip === ip);
  } catch {
    return false;
  }
}

function shuffled({ identities }: Environment, all: readonly any[]): readonly any[] {
  const start = Math.floor(identities.chance() * all.length);
  return [...all.slice(start), ...all.slice(0, start)];
}

const special4 = /^(?:0\.0\.0\.0$|255\.255\.255\.255$|127\.|169\.254\.|22[4-9]\.|23\d\.)/;
const special6 = /^(?:::1?$|fe[89ab]|ff|::ffff:(?:127|169\.254)\.)/i;

/** An address of one machine that is not this one: no loopback, no link, no group. */
function isReachable(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !special4.test(address);
    case 6:
      return !special6.test(address);
    default:
      return false;
  }
}

function toBackend({ rawPath, rawQuery }: ConnectRequest, place: Place): Destination {
  return { ...place, path: rawPath, query: rawQuery, use: "proxy" };
}
