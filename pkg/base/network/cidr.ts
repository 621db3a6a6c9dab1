import { formatIp, type IpAddress, isIpv4Mapped, parseIp, parseStrictIp } from "./ip-address.ts";

/** A network in CIDR notation; bits beyond the prefix may be set. */
export interface Cidr {
  readonly address: IpAddress;
  /** Prefix length in bits. */
  readonly prefix: number;
}

/** Reads `10.0.0.0/8` as `net.ParseCIDR` did before Go 1.17: leading zeros are allowed. */
export function parseCidr(text: string): Cidr | undefined {
  return parse(text, parseIp, /^[0-9]+$/);
}

/** Reads `10.0.0.0/8` as `netip.ParsePrefix` does: no leading zeros, in the prefix length neither. */
export function parseStrictCidr(text: string): Cidr | undefined {
  return parse(text, parseStrictIp, /^(?:0|[1-9][0-9]*)$/);
}

function parse(text: string, parseAddress: typeof parseIp, decimal: RegExp): Cidr | undefined {
  const slash = text.indexOf("/");
  const length = text.slice(slash + 1);
  if (slash < 0 || !decimal.test(length)) return undefined;
  const address = parseAddress(text.slice(0, slash));
  const prefix = Number(length);
  if (address === undefined || prefix > address.length * 8) return undefined;
  return { address, prefix };
}

/** The first address of a network: bits beyond the prefix are cleared. */
export function maskedIp({ address, prefix }: Cidr): IpAddress {
  return address.map((byte, index) => {
    const bits = Math.min(Math.max(prefix - index * 8, 0), 8);
    return byte & (0xff << (8 - bits)) & 0xff;
  });
}

/**
 * The masked network, as in `net.IPNet`; an IPv4-mapped one is converted to IPv4.
 */
export function networkOf(cidr: Cidr): Cidr {
  const address = maskedIp(cidr);
  if (!isIpv4Mapped(address)) return { address, prefix: cidr.prefix };
  return { address: address.slice(12), prefix: cidr.prefix - 96 };
}

/** Text of the network, as `net.IPNet.String`. */
export function formatNetwork(cidr: Cidr): string {
  const { address, prefix } = networkOf(cidr);
  return `${formatIp(address)}/${prefix}`;
}

/** True if the network has the address; families do not mix. */
export function cidrContains({ address, prefix }: Cidr, other: IpAddress): boolean {
  if (address.length !== other.length) return false;
  const masked = maskedIp({ address: other, prefix });
  return maskedIp({ address, prefix }).every((byte, index) => byte === masked[index]);
}
