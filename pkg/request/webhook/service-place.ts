import { cryptoRandom } from "#base";
import { resolveService, type ServiceReader } from "../services/resolve-service.ts";
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

const usualPort = 443;
const how = { routing: "any", random: cryptoRandom } as const;

/** A service is called by its name within the cluster, and reached wherever it leads. */
export function webhookPlace(config: WebhookClientConfig, reader: ServiceReader): WebhookPlace {
  const { url, service, caBundle = "" } = config;
  const authorities = Buffer.from(caBundle, "base64").toString("utf8");
  if (service === undefined) return { url: withCleanPath(new URL(url ?? "")), authorities };
  const { namespace, name, path = "", port = usualPort } = service;
  return {
    url: new URL(`https://${name}.${namespace}.svc:${port}${cleanPath(path)}`),
    authorities,
    address: async () => (await resolveService(reader, { namespace, name, port }, how))[0]!,
  };
}
