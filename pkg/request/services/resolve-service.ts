import { type Random, shuffle } from "#base";

/** How stored configurations name a Service. */
interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Reads Services and what belongs to them. */
export interface ServiceReader {
  /** Undefined when there is none. */
  readonly service: (place: Named) => Promise<ResolvableService | undefined>;
  /** The EndpointSlices of a service. */
  readonly slices: (place: Named) => Promise<readonly ServiceSlice[]>;
}

/** Service, as much of it as matters here. */
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

/** EndpointSlice, as much of it as matters here. */
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
 * Which addresses of a Service connections go to. `endpoints`: its ready endpoints
 * (`--enable-aggregator-routing`). `any`: those if there are any, else the cluster address, since an
 * API server need not run where cluster addresses are routed; and the name of a Service of type
 * ExternalName.
 */
export type ServiceRouting = "any" | "endpoints";

/** A Service leads nowhere; the message is kube-apiserver's. */
export class UnresolvedService extends Error {
  override readonly name = "UnresolvedService";
}

const clusterTypes = new Set(["ClusterIP", "LoadBalancer", "NodePort"]);

/**
 * Addresses at which a port of a Service is reached, the best first, at least one. Those of the
 * Service's primary IP family come before the others, in random order.
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

/** An endpoint without a known condition counts as ready. */
export function isReadyEndpoint({
  conditions,
}: {
  readonly conditions?: { readonly ready?: boolean };
}): boolean {
  return conditions?.ready !== false;
}

/** First address of every ready endpoint that has the port. */
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
