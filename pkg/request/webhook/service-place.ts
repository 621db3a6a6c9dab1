import { cryptoRandom } from "#base";
import { resolveService, type ServiceReader } from "../services/resolve-service.ts";
import type { WebhookPlace } from "./call.ts";
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

/** Resolves the configuration. A service has the URL of its cluster DNS name, but is resolved directly. */
export function webhookPlace(config: WebhookClientConfig, reader: ServiceReader): WebhookPlace {
  const { url, service, caBundle = "" } = config;
  const authorities = Buffer.from(caBundle, "base64").toString("utf8");
  if (service === undefined) return { url: withCleanPath(new URL(url ?? "")), authorities };
  const { namespace, name, path = "", port = defaultPort } = service;
  return {
    url: new URL(`https://${name}.${namespace}.svc:${port}${cleanPath(path)}`),
    authorities,
    address: async () => (await resolveService(reader, { namespace, name, port }, resolution))[0]!,
  };
}
