import { formatIp, parseStrictIp } from "#base";
import { type Certificate, commonName } from "./certificate.ts";

/**
 * Why a certificate is not valid for a host name or address, in the words of crypto/x509; undefined = it is
 * valid. The common name of the subject is never used.
 */
export function hostNameFault({ alternativeNames, x509 }: Certificate, host: string) {
  const bare = host.replace(/^\[(.+)\]$/, "$1");
  const address = parseStrictIp(bare);
  const { dns = [], addresses = [] } = alternativeNames ?? {};
  if (address !== undefined) {
    const valid = addresses.map((bytes) => formatIp([...bytes]));
    if (valid.includes(formatIp(address))) return undefined;
    const isLegacy = alternativeNames === undefined && matchesPattern(commonName(x509), bare);
    if (isLegacy) return legacyName;
    if (valid.length > 0) return notValidFor(valid, bare);
    return `x509: cannot validate certificate for ${bare} because it doesn't contain any IP SANs`;
  }
  const isValidHost = isHostName(host, false);
  const matches = (name: string) =>
    isValidHost && isHostName(name, true)
      ? matchesPattern(name, host)
      : name.length > 0 && name !== "." && name.toLowerCase() === host.toLowerCase();
  if (dns.some(matches)) return undefined;
  if (alternativeNames === undefined && matchesPattern(commonName(x509), host)) return legacyName;
  return notValidFor(dns, host);
}

const legacyName = "x509: certificate relies on legacy Common Name field, use SANs instead";

function notValidFor(names: readonly string[], host: string): string {
  const valid = names.join(", ");
  return valid === ""
    ? `x509: certificate is not valid for any names, but wanted to match ${host}`
    : `x509: certificate is valid for ${valid}, not ${host}`;
}

function isHostName(text: string, isPattern: boolean): boolean {
  const [first = "", ...others] = (isPattern ? text : text.replace(/\.$/, "")).split(".");
  if (first === "*" && others.length === 0) return false;
  const isLabel = (label: string) => /^[a-zA-Z0-9_][a-zA-Z0-9_-]*$/.test(label);
  return ((isPattern && first === "*") || isLabel(first)) && others.every(isLabel);
}

/** Compares labels; `*` as the first one of the pattern matches any. */
function matchesPattern(pattern: string, host: string): boolean {
  const labels = pattern.toLowerCase().split(".");
  const wanted = host.toLowerCase().replace(/\.$/, "").split(".");
  if (pattern === "" || wanted.join("") === "" || labels.length !== wanted.length) return false;
  return labels.every((label, at) => (at === 0 && label === "*") || label === wanted[at]);
}
