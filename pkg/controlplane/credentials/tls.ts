import { createSecureContext } from "node:tls";
import { parseCertificates } from "#authn";
import type { TlsOptions } from "#server";
import type { Credentials } from "./credentials.ts";
import type { FileReloader } from "../files/file-reloader.ts";
import type { StartOptions } from "../options.ts";

/**
 * TLS options of the server. When their files change, `renew` is called; open connections keep the
 * certificates that they started with.
 */
export function followedTls(
  options: StartOptions,
  { serving, generated }: Credentials,
  { files, renew }: { readonly files: FileReloader; readonly renew: (tls: TlsOptions) => void },
): TlsOptions {
  const { certificate, privateKey } = serving;
  const trusted = [options.clientCa ?? [], options.frontProxy?.ca ?? []].flat();
  let first: TlsOptions | undefined;
  files.use([certificate, privateKey, ...trusted], (cert = "", key = "", ...authorities) => {
    for (const text of authorities) parseCertificates(text);
    parseCertificates(cert);
    // Throws for an invalid key, and for a key that does not match the certificate.
    createSecureContext({ cert, key });
    const clientCa = [generated?.authority.certificate ?? [], ...authorities].flat().join("\n");
    const { http2 = true, tlsMinVersion: minVersion = "TLSv1.2" } = options;
    const tls = { cert, key, clientCa, minVersion, http2 };
    if (first === undefined) first = tls;
    else renew(tls);
  });
  return first!;
}
