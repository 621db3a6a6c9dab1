import { cryptoRandom } from "#base";
import {
  type ApiAddress,
  type Dialer,
  type DialTarget,
  SimulatedAddress,
} from "../services/dialer.ts";
import { resolveService, type ServiceReader } from "../services/resolve-service.ts";
import { hostOf, type WebhookPlace } from "./call.ts";
import { cleanPath, withCleanPath } from "./clean-path.ts";

/** WebhookClientConfig of stored configurations: either `url` or `service`. */
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

const defaultPort = 443;
const resolution = { routing: "any", random: cryptoRandom } as const;

interface PlaceParts {
  readonly reader: ServiceReader;
  readonly dialer: Dialer;
}

/** Resolves the configuration. A service has the URL of its cluster DNS name, but is resolved directly. */
export function webhookPlace(
  config: WebhookClientConfig,
  { reader, dialer }: PlaceParts,
): WebhookPlace {
  const { url, service, caBundle = "" } = config;
  const authorities = Buffer.from(caBundle, "base64").toString("utf8");
  if (service === undefined) {
    const place = withCleanPath(new URL(url ?? ""));
    const address = { host: hostOf(place), port: Number(place.port) || defaultPort };
    return {
      url: place,
      authorities,
      isService: false,
      target: (signal) => dialer.targetOf(address, signal),
    };
  }
  const { namespace, name, path = "", port = defaultPort } = service;
  return {
    url: new URL(`https://${name}.${namespace}.svc:${port}${cleanPath(path)}`),
    authorities,
    isService: true,
    target: async (signal) => {
      const reference = { namespace, name, port };
      return firstTarget(await resolveService(reader, reference, resolution), { dialer, signal });
    },
  };
}

/** The first address that can be dialled. @throws SimulatedAddress if there is none */
async function firstTarget(
  addresses: readonly ApiAddress[],
  { dialer, signal }: { readonly dialer: Dialer; readonly signal: AbortSignal | undefined },
): Promise<DialTarget> {
  let failure: SimulatedAddress | undefined;
  for (const address of addresses) {
    try {
      return await dialer.targetOf(address, signal);
    } catch (error) {
      if (!(error instanceof SimulatedAddress)) throw error;
      failure ??= error;
    }
  }
  throw failure ?? new SimulatedAddress("no addresses");
}
