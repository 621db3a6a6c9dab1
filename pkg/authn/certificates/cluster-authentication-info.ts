import type { X509Certificate } from "node:crypto";
import { parseJsonText } from "#base";
import { parseCertificates } from "./certificate-authorities.ts";
import type { RequestHeaderNames } from "./front-proxy.ts";

/** Client CAs and request headers by which a server authenticates clients. */
export interface ClusterAuthenticationInfo {
  /** CA certificates of client certificates (PEM). */
  readonly clientCa: string;
  readonly frontProxy:
    | {
        readonly ca: string;
        readonly allowedNames: readonly string[];
        readonly headers: RequestHeaderNames;
      }
    | undefined;
}

type Data = Readonly<Record<string, string>>;

/**
 * Merges into the ConfigMap `extension-apiserver-authentication`, by which aggregated API servers
 * authenticate the same clients. Keeps entries of other servers, except expired certificates.
 * @param present current data
 * @param now milliseconds since 1970
 */
export function mergedAuthenticationInfo(
  { clientCa, frontProxy }: ClusterAuthenticationInfo,
  present: Data,
  now: number,
) {
  const certificates = (key: string, pem: string) => ({
    [key]: joinedCertificates([present[key] ?? "", pem], now),
  });
  const names = (key: string, own: readonly string[]) => ({
    [key]: JSON.stringify([...new Set([...listOf(present[key]), ...own])]),
  });
  const trusted: Data = { ...present, ...certificates("client-ca-file", clientCa) };
  if (frontProxy === undefined) return trusted;
  const { ca, allowedNames, headers } = frontProxy;
  return {
    ...trusted,
    ...certificates("requestheader-client-ca-file", ca),
    ...allowed(present["requestheader-allowed-names"], allowedNames),
    ...names("requestheader-username-headers", headers.username),
    ...names("requestheader-uid-headers", headers.uid),
    ...names("requestheader-group-headers", headers.group),
    ...names("requestheader-extra-headers-prefix", headers.extraPrefix),
  };
}

/** Merged allowed names; an empty list allows all names, and takes precedence. */
function allowed(present: string | undefined, own: readonly string[]): Data {
  const key = "requestheader-allowed-names";
  const known = listOf(present);
  const isAny = own.length === 0 || (present !== undefined && known.length === 0);
  return { [key]: JSON.stringify(isAny ? [] : [...new Set([...known, ...own])]) };
}

/** Parses a JSON list; an invalid one is empty, so that it is rewritten. */
function listOf(text: string | undefined): readonly string[] {
  try {
    const list: unknown = parseJsonText(text ?? "[]");
    return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

function joinedCertificates(texts: readonly string[], now: number): string {
  const found = new Map<string, X509Certificate>();
  for (const certificate of texts.flatMap(certificatesOf)) {
    const { fingerprint256, validTo } = certificate;
    if (Date.parse(validTo) > now) found.set(fingerprint256, certificate);
  }
  return [...found.values()].map((certificate) => certificate.toString()).join("");
}

function certificatesOf(pem: string): readonly X509Certificate[] {
  try {
    return parseCertificates(pem);
  } catch {
    return [];
  }
}
