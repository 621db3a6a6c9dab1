/** Services, Endpoints and EndpointSlices. */
import type { ApiObject, Handle } from "#client";
import { type Domain, resolve } from "#meta";

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  /** Number, or name of a container port. */
  readonly targetPort?: number | string;
  readonly appProtocol?: string;
}

export interface Service extends ApiObject {
  readonly spec?: {
    readonly type?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ipFamilies?: readonly AddressFamily[];
    readonly publishNotReadyAddresses?: boolean;
    readonly trafficDistribution?: string;
  };
}

export type AddressFamily = "IPv4" | "IPv6";

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

export interface EndpointAddress {
  readonly ip: string;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef?: ObjectReference;
}

export interface EndpointPort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
  readonly appProtocol?: string;
}

export interface EndpointSubset {
  readonly addresses?: readonly EndpointAddress[];
  readonly notReadyAddresses?: readonly EndpointAddress[];
  readonly ports?: readonly EndpointPort[];
}

export interface Endpoints extends ApiObject {
  readonly subsets?: readonly EndpointSubset[];
}

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
  readonly hostname?: string;
  readonly targetRef?: ObjectReference;
  readonly nodeName?: string;
  readonly zone?: string;
  readonly hints?: {
    readonly forZones?: readonly { readonly name: string }[];
    readonly forNodes?: readonly { readonly name: string }[];
  };
}

export interface EndpointSlice extends ApiObject {
  readonly addressType: AddressFamily | "FQDN";
  readonly endpoints: readonly Endpoint[];
  readonly ports?: readonly EndpointPort[];
}

const core = { group: "", version: "v1", namespaced: true } as const;

export const services: Handle<Service> = { ...core, plural: "services", kind: "Service" };
export const endpoints: Handle<Endpoints> = { ...core, plural: "endpoints", kind: "Endpoints" };

export function endpointSlices(domain: Domain): Handle<EndpointSlice> {
  const group = resolve("discovery.{api}", domain);
  const names = { plural: "endpointslices", kind: "EndpointSlice" };
  return { group, version: "v1", ...names, namespaced: true };
}
