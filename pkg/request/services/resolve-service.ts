import { type Random, shuffle } from "#base";

/** Namespace and name of a Service. */
interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Reads Services and their EndpointSlices. */
export interface ServiceReader {
  /** Resolves to undefined if the Service does not exist. */
  readonly service: (place: Named) => Promise<ResolvableService | undefined>;
  /** The EndpointSlices of a service. */
  readonly slices: (place: Named) => Promise<readonly ServiceSlice[]>;
}

/** The fields of a Service that are needed to resolve it. */
export interface ResolvableService {
  readonly spec: {
    readonly type?: string;
    readonly externalName?: string;
    readonly clusterIP?: string;
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
      }[]
    | null;
}

/** Host, without brackets, and port to connect to. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * How a Service is resolved. `endpoints`: to its ready endpoints (`--enable-aggregator-routing`). `any`:
 * to these if there are any, else to the cluster IP, which the API server may be unable to route; a
 * Service of type ExternalName to its name.
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
  { port, ...place }: Named & { readonly port: number },
  { routing, random }: { readonly routing: ServiceRouting; readonly random: Random },
): Promise<readonly ServiceAddress[]> {
  const quoted = JSON.stringify(place.name);
  const service = await reader.service(place);
  if (service === undefined) throw new UnresolvedService(`service ${quoted} not found`);
  const { type = "ClusterIP", externalName = "", clusterIP = "", ports = [] } = service.spec;
  if (type === "ExternalName" && routing !== "endpoints") return [{ host: externalName, port }];
  if (!clusterTypes.has(type)) {
    throw new UnresolvedService(`unsupported service type ${JSON.stringify(type)}`);
  }
  const isHeadless = clusterIP === "" || clusterIP === "None";
  const found = ports.find((each) => each.port === port);
  if (found === undefined) {
    throw new UnresolvedService(`no service port ${port} found for service ${quoted}`);
  }
  const endpoints = readyEndpoints(await reader.slices(place), found.name ?? "", {
    family: service.spec.ipFamilies?.[0],
    random,
  });
  if (endpoints.length > 0) return endpoints;
  if (routing === "any" && !isHeadless) return [{ host: clusterIP, port }];
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
  { family, random }: { readonly family: string | undefined; readonly random: Random },
): readonly ServiceAddress[] {
  const addressesOf = ({ ports, endpoints }: ServiceSlice): readonly ServiceAddress[] => {
    const port = ports?.find((each) => (each.name ?? "") === portName)?.port;
    if (port === undefined) return [];
    const hosts = (endpoints ?? []).filter(isReadyEndpoint).map(({ addresses }) => addresses?.[0]);
    return hosts.flatMap((host) => (host === undefined ? [] : [{ host, port }]));
  };
  const isPreferred = ({ addressType }: ServiceSlice) => addressType === family;
  const preferred = slices.filter(isPreferred).flatMap(addressesOf);
  const others = slices.filter((slice) => !isPreferred(slice)).flatMap(addressesOf);
  return [...shuffle(random, preferred), ...shuffle(random, others)];
}
