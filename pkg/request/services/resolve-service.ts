import { type Random, shuffle } from "#base";
import type { ApiAddress, NamespacedName } from "./dialer.ts";

/** Reads Services and their EndpointSlices. */
export interface ServiceReader {
  /** Resolves to undefined if the Service does not exist. */
  readonly service: (place: NamespacedName) => Promise<ResolvableService | undefined>;
  /** The EndpointSlices of a service. */
  readonly slices: (place: NamespacedName) => Promise<readonly ServiceSlice[]>;
}

/** The fields of a Service that are needed to resolve it. */
export interface ResolvableService {
  readonly spec: {
    readonly type?: string;
    readonly externalName?: string;
    readonly ipFamilies?: readonly string[];
    readonly ports?: readonly ServicePort[];
  };
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
}

/** The fields of an EndpointSlice that are needed to resolve its Service. */
export interface ServiceSlice {
  readonly addressType?: string;
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[] | null;
        readonly conditions?: { readonly ready?: boolean };
        readonly nodeName?: string;
        readonly targetRef?: {
          readonly kind?: string;
          readonly namespace?: string;
          readonly name?: string;
        };
      }[]
    | null;
}

/**
 * How a Service is resolved: to its ready endpoints. With `any`, a Service of type ExternalName is resolved
 * to its name as well; with `endpoints` (`--enable-aggregator-routing`) it is an error. The cluster IP is
 * never used: the API server may be unable to route it, and without ready endpoints nothing is behind it.
 */
export type ServiceRouting = "any" | "endpoints";

/** A Service cannot be resolved; the message is kube-apiserver's. */
export class UnresolvedService extends Error {
  override readonly name = "UnresolvedService";
}

const clusterTypes = new Set(["ClusterIP", "LoadBalancer", "NodePort"]);

/**
 * Resolves a port of a Service to at least one address. Those of the primary IP family precede the
 * others; each family is in random order.
 * @param port number of the Service's port
 * @throws UnresolvedService
 */
export async function resolveService(
  reader: ServiceReader,
  { port, ...place }: NamespacedName & { readonly port: number },
  { routing, random }: { readonly routing: ServiceRouting; readonly random: Random },
): Promise<readonly ApiAddress[]> {
  const quoted = JSON.stringify(place.name);
  const service = await reader.service(place);
  if (service === undefined) throw new UnresolvedService(`service ${quoted} not found`);
  const { type = "ClusterIP", externalName = "", ports = [] } = service.spec;
  if (type === "ExternalName" && routing !== "endpoints") return [{ host: externalName, port }];
  if (!clusterTypes.has(type)) {
    throw new UnresolvedService(`unsupported service type ${JSON.stringify(type)}`);
  }
  const found = ports.find((each) => each.port === port);
  if (found === undefined) {
    throw new UnresolvedService(`no service port ${port} found for service ${quoted}`);
  }
  const endpoints = readyEndpoints(await reader.slices(place), found.name ?? "", {
    namespace: place.namespace,
    family: service.spec.ipFamilies?.[0],
    random,
  });
  if (endpoints.length > 0) return endpoints;
  throw new UnresolvedService(`no endpoints available for service ${quoted}`);
}

/** Whether an endpoint is ready; an absent condition means ready. */
export function isReadyEndpoint({
  conditions,
}: {
  readonly conditions?: { readonly ready?: boolean };
}): boolean {
  return conditions?.ready !== false;
}

/** The first address of every ready endpoint with the port. */
function readyEndpoints(
  slices: readonly ServiceSlice[],
  portName: string,
  {
    namespace,
    family,
    random,
  }: {
    readonly namespace: string;
    readonly family: string | undefined;
    readonly random: Random;
  },
): readonly ApiAddress[] {
  const addressesOf = ({ ports, endpoints }: ServiceSlice): readonly ApiAddress[] => {
    const port = ports?.find((each) => (each.name ?? "") === portName)?.port;
    if (port === undefined) return [];
    return (endpoints ?? []).filter(isReadyEndpoint).flatMap((endpoint) => {
      const host = endpoint.addresses?.[0];
      const { nodeName: node } = endpoint;
      return host === undefined ? [] : [{ host, port, node, pod: podOf(endpoint, namespace) }];
    });
  };
  const isPreferred = ({ addressType }: ServiceSlice) => addressType === family;
  const preferred = slices.filter(isPreferred).flatMap(addressesOf);
  const others = slices.filter((slice) => !isPreferred(slice)).flatMap(addressesOf);
  return [...shuffle(random, preferred), ...shuffle(random, others)];
}

type Endpoint = NonNullable<ServiceSlice["endpoints"]>[number];

/** The pod to which the endpoint refers. */
function podOf({ targetRef }: Endpoint, namespace: string): NamespacedName | undefined {
  if (targetRef?.kind !== "Pod" || targetRef.name === undefined) return undefined;
  return { namespace: targetRef.namespace ?? namespace, name: targetRef.name };
}
