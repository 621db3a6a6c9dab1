import type { Clock } from "#base";
import type { FrontProxyOptions } from "../authentication/authentication-options.ts";
import type { StartOptions } from "../options.ts";
import { ensureAuthority, ensureLeaf } from "./credentials.ts";

/** Common name of the client certificate of API servers, as kubeadm calls it. */
const commonName = "front-proxy-client";

const headers: FrontProxyOptions["headers"] = {
  username: ["X-Remote-User"],
  uid: ["X-Remote-Uid"],
  group: ["X-Remote-Group"],
  extraPrefix: ["X-Remote-Extra-"],
};

/**
 * Adds to the options of a listening server, unless they are set, the credentials that authenticate
 * it to aggregated API servers: a client certificate, and its CA as that of front proxies. Both are
 * read from `certificateDirectory`, generated if they are missing.
 */
export async function withFrontProxy<T extends StartOptions>(options: T, clock: Clock): Promise<T> {
  const { aggregation, certificateDirectory: directory, frontProxy, port } = options;
  if (port === undefined || frontProxy !== undefined || aggregation?.client !== undefined) {
    return options;
  }
  const files = { directory, now: clock.now(), onSupplied: "ignore" } as const;
  const authority = await ensureAuthority({ ...files, name: "front-proxy-ca" });
  const client = await ensureLeaf({ ...files, name: commonName }, authority, {
    commonName,
    usage: "client",
  });
  return {
    ...options,
    frontProxy: { ca: authority.certificate, allowedNames: [commonName], headers },
    aggregation: { ...aggregation, client },
  };
}
