import type { StartOptions } from "#controlplane";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";
import { reloadedFile } from "./authentication-flags.ts";

/** Flags of the aggregator, with kube-apiserver's names. */
export const aggregationFlags = {
  "proxy-client-cert-file": flag(
    "string",
    "",
    "file with the client certificate that this server presents to aggregated API servers (PEM); " +
      "reloaded when it changes (default: generated in --cert-dir, unless " +
      "--requestheader-client-ca-file is given)",
  ),
  "proxy-client-key-file": flag(
    "string",
    "",
    "file with the private key of --proxy-client-cert-file (PEM); reloaded when it changes",
  ),
  "enable-aggregator-routing": flag(
    "bool",
    false,
    "route requests for aggregated API servers only to ready endpoints of their Service, not to " +
      "its cluster IP when it has none",
  ),
  "aggregator-reject-forwarding-redirect": flag(
    "bool",
    true,
    "respond with 502 when an aggregated API server redirects a client, instead of forwarding " +
      "the redirect",
  ),
} as const;

/** @throws UsageError */
export function aggregationOptions(
  values: FlagValues<typeof aggregationFlags>,
): Pick<StartOptions, "aggregation"> {
  const {
    "proxy-client-cert-file": certificate,
    "proxy-client-key-file": privateKey,
    "enable-aggregator-routing": endpointsOnly,
    "aggregator-reject-forwarding-redirect": rejectRedirects,
  } = values;
  if ((certificate === "") !== (privateKey === "")) {
    throw new UsageError(
      "--proxy-client-cert-file and --proxy-client-key-file must be given together",
    );
  }
  const client = certificate !== "" && {
    certificate: reloadedFile(certificate, "proxy-client-cert-file"),
    privateKey: reloadedFile(privateKey, "proxy-client-key-file"),
  };
  return { aggregation: { endpointsOnly, rejectRedirects, ...(client && { client }) } };
}
