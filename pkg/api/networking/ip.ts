/** Validation of IP addresses and CIDR values, and warnings about their spelling. */
import {
  type Cidr,
  cidrContains,
  formatIp,
  formatNetwork,
  type IpAddress,
  isIpv4Mapped,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  maskedIp,
  networkOf,
  parseCidr,
  parseIp,
  parseStrictCidr,
  parseStrictIp,
} from "#base";

/** Message for text that is not an IP address. */
export const notAnAddressMessage = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/** A warning for a non-standard spelling of an address; undefined for a standard one. */
export function addressWarning(text: string): string | undefined {
  const address = parseIp(text);
  if (address === undefined) return undefined;
  const canonical = formatIp(address);
  if (parseStrictIp(text) === undefined) return nonStandard("IP address", text, canonical);
  if (isIpv4Mapped(address)) return nonStandard("IP address", text, canonical);
  if (text === canonical) return undefined;
  return `IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`;
}

function nonStandard(what: string, text: string, canonical: string): string {
  return (
    `non-standard ${what} ${quote(text)} will be considered invalid in a future Kubernetes ` +
    `release: use ${quote(canonical)}`
  );
}

const quote = (text: string) => JSON.stringify(text);

/** Message for text that is not a CIDR value. */
export const notANetworkMessage = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** Whether `inner` is contained in `outer` and has a longer prefix, by their text. */
export function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  return inner.prefix > outer.prefix && cidrContains(networkOf(outer), networkOf(inner).address);
}

/** Warnings about a CIDR value that is ambiguous or in a non-standard spelling. */
export function networkWarnings(text: string): readonly string[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return [];
  const { address } = cidr;
  const network = formatNetwork(cidr);
  const warnings: string[] = [];
  if (formatIp(address) !== formatIp(maskedIp(cidr))) {
    const single = `${formatIp(address)}/${address.length * 8}`;
    const choice = `should be ${quote(network)} or ${quote(single)}?`;
    warnings.push(`CIDR value ${quote(text)} is ambiguous in this context (${choice})`);
  }
  if (parseStrictCidr(text) === undefined || isIpv4Mapped(address)) {
    warnings.push(nonStandard("CIDR value", text, network));
  }
  if (warnings.length > 0 || text === network) return warnings;
  return [
    `IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(network)})`,
  ];
}

/** Error for an unspecified, loopback or link-local address, to which traffic must not be sent. */
export function unreachableReason(address: IpAddress, text: string): string | undefined {
  if (isUnspecified(address)) return `may not be unspecified (${text})`;
  if (isLoopback(address)) return "may not be in the loopback range (127.0.0.0/8, ::1/128)";
  if (isLinkLocalUnicast(address)) {
    return "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
  }
  if (isLinkLocalMulticast(address)) {
    return "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
  }
  return undefined;
}

/** Violations of the canonical form of an address; empty if there are none. */
export function checkAddress(text: string): readonly string[] {
  const address = parseIp(text);
  if (address === undefined) return [notAnAddressMessage];
  const messages: string[] = [];
  if (parseStrictIp(text) === undefined) messages.push("must not have leading 0s");
  if (isIpv4Mapped(address)) messages.push("must not be an IPv4-mapped IPv6 address");
  if (messages.length > 0 || text === formatIp(address)) return messages;
  return [`must be in canonical form (${quote(formatIp(address))})`];
}

/** Violations of the canonical form of a CIDR value; empty if there are none. */
export function checkNetwork(text: string): readonly string[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return [notANetworkMessage];
  if (parseStrictCidr(text) === undefined) {
    return ["must not have leading 0s in IP or prefix length"];
  }
  if (isIpv4Mapped(cidr.address)) return ["must not have an IPv4-mapped IPv6 address"];
  if (formatIp(cidr.address) !== formatIp(maskedIp(cidr))) {
    return ["must not have bits set beyond the prefix length"];
  }
  const network = formatNetwork(cidr);
  return text === network ? [] : [`must be in canonical form (${quote(network)})`];
}
