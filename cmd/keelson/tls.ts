import type { TlsOptions } from "#server";
import type { Credentials } from "./credentials.ts";
import type { FollowedFiles } from "./followed-files.ts";
import type { StartOptions } from "./options.ts";

/**
 * What the server listens with. Files that change later are handed to `renew`; connections that are
 * open go on with what they began with.
 */
export function followedTls(
  options: StartOptions,
  { serving, authority }: Credentials,
  { files, renew }: { readonly files: FollowedFiles; readonly renew: (tls: TlsOptions) => void },
): TlsOptions {
  const { certificate, privateKey } = options.serving ?? serving;
  const sources = [certificate, privateKey, options.clientCa ?? "", options.frontProxy?.ca ?? ""];
  let first: TlsOptions | undefined;
  files.use(sources, (cert = "", key = "", ...authorities) => {
    const clientCa = [authority.certificate, ...authorities].join("\n");
    const tls = { cert, key, clientCa, minVersion: options.tlsMinVersion ?? "TLSv1.2" };
    if (first === undefined) first = tls;
    else renew(tls);
  });
  return first!;
}
