import { type Catalog, resolve, type Resource, StatusError } from "#meta";
import { everything, serverTarget } from "#registry";
import type { DefinitionOptions } from "./access.ts";

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Where a service is reached: at one of its ready endpoints if it has any, since this server need
 * not run where addresses of services lead anywhere; else at its own address. Throws an Error in
 * words for clients.
 */
export async function addressOf(
  options: DefinitionOptions,
  { namespace, name, port }: ServiceName,
): Promise<Address> {
  const service = await serviceOf(options, { namespace, name });
  const { type, externalName, clusterIP, ports = [] } = service.spec;
  if (type === "ExternalName") return { host: externalName ?? "", port };
  const named = ports.find((each) => each.port === port);
  if (named === undefined) {
    throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
  }
  const found = await endpointOf(options, { namespace, name }, named.name ?? "");
  if (found !== undefined) return found;
  if (!clusterIP || clusterIP === "None") {
    throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
  }
  return { host: clusterIP, port };
}

/** As much of it as matters here. */
interface Service {
  readonly spec: {
    readonly type?: string;
    readonly externalName?: string;
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  };
}

interface Slice {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[] | null;
        readonly conditions?: { readonly ready?: boolean };
      }[]
    | null;
}

type Named = Pick<ServiceName, "namespace" | "name">;

async function serviceOf(options: DefinitionOptions, place: Named): Promise<Service> {
  const { registry, catalog, signal } = options;
  const services = served(catalog, "", "services");
  try {
    const item = await registry.get(serverTarget(services, place, signal), { resourceVersion: "0" });
    return item.object;
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404)) throw error;
    throw new Error(`service ${JSON.stringify(place.name)} not found`, { cause: error });
  }
}

async function endpointOf(
  { registry, catalog, signal }: DefinitionOptions,
  { namespace, name }: Named,
  portName: string,
): Promise<Address | undefined> {
  const { domain } = catalog;
  const slices = served(catalog, resolve("discovery.{api}", domain), "endpointslices");
  const labelSelector = `${resolve("{label}/service-name", domain)}=${name}`;
  const list = await registry.list(serverTarget(slices, { namespace }, signal), {
    ...everything,
    resourceVersion: "0",
    labelSelector,
  });
  for await (const item of list.items) {
    const { ports, endpoints }: Slice = item.object;
    const port = ports?.find((each) => (each.name ?? "") === portName)?.port;
    const ready = endpoints?.find((each) => each.conditions?.ready !== false);
    const host = ready?.addresses?.[0];
    if (port !== undefined && host !== undefined) return { host, port };
  }
  return undefined;
}

function served(catalog: Catalog, group: string, plural: string): Resource {
  const resource = catalog.find(group, "v1", plural);
  if (resource === undefined) throw new Error(`${plural} are not served`);
  return resource;
}
