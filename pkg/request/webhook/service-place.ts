import type { WebhookPlace } from "./call.ts";
import { cleanPath, withCleanPath } from "./clean-path.ts";

/** How stored configurations say where a webhook is: one of `url` and `service`. */
export interface WebhookClientConfig {
  readonly url?: string | undefined;
  readonly service?:
    | {
        readonly namespace: string;
        readonly name: string;
        readonly path?: string | undefined;
        readonly port?: number | undefined;
      }
    | undefined;
  /** Base64 of PEM. */
  readonly caBundle?: string | undefined;
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Finds what a service leads to. */
export interface ServiceReader {
  /** Undefined when there is none. */
  readonly service: (place: Named) => Promise<WebhookService | undefined>;
  /** The EndpointSlices of a service. */
  readonly slices: (place: Named) => Promise<readonly ServiceSlice[]>;
}

/** As much of a Service as matters here. */
interface WebhookService {
  readonly spec: {
    readonly type?: string;
    readonly externalName?: string;
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  };
}

/** As much of an EndpointSlice. */
interface ServiceSlice {
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[] | null;
        readonly conditions?: { readonly ready?: boolean };
      }[]
    | null;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

const usualPort = 443;

/** A service is called by its name within the cluster, and reached wherever it leads. */
export function webhookPlace(config: WebhookClientConfig, reader: ServiceReader): WebhookPlace {
  const { url, service, caBundle = "" } = config;
  const authorities = Buffer.from(caBundle, "base64").toString("utf8");
  if (service === undefined) return { url: withCleanPath(new URL(url ?? "")), authorities };
  const { namespace, name, path = "", port = usualPort } = service;
  return {
    url: new URL(`https://${name}.${namespace}.svc:${port}${cleanPath(path)}`),
    authorities,
    address: () => addressOf(reader, { namespace, name, port }),
  };
}

/**
 * Where a service is reached: at one of its ready endpoints if it has any, since this server need
 * not run where addresses of services lead anywhere; else at its own address. Throws an Error in
 * words for clients.
 */
async function addressOf(
  reader: ServiceReader,
  { namespace, name, port }: Named & { readonly port: number },
): Promise<Address> {
  const service = await reader.service({ namespace, name });
  if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`);
  const { type, externalName, clusterIP, ports = [] } = service.spec;
  if (type === "ExternalName") return { host: externalName ?? "", port };
  const named = ports.find((each) => each.port === port);
  if (named === undefined) {
    throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
  }
  const slices = await reader.slices({ namespace, name });
  const found = endpointOf(slices, named.name ?? "");
  if (found !== undefined) return found;
  if (!clusterIP || clusterIP === "None") {
    throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
  }
  return { host: clusterIP, port };
}

function endpointOf(slices: readonly ServiceSlice[], portName: string): Address | undefined {
  for (const { ports, endpoints } of slices) {
    const port = ports?.find((each) => (each.name ?? "") === portName)?.port;
    const ready = endpoints?.find((each) => each.conditions?.ready !== false);
    const host = ready?.addresses?.[0];
    if (port !== undefined && host !== undefined) return { host, port };
  }
  return undefined;
}
