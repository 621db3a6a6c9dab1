import { formatIp, type IpAddress, networkOf, parseCidr, parseIp } from "#base";
import type { NodesSettings } from "./settings.ts";

/** Number of reserved addresses at the start of a range: network and gateway. */
const reserved = 2;
/** Maximum number of used addresses of a range; a node runs fewer pods. */
const maxAddresses = 2 ** 16;

/** Allocator of pod addresses of one node: one address of each podCIDR per pod. */
export class PodAddresses {
  private readonly ranges: readonly AddressRange[];

  /**
   * @param cidrs one range, or one of each IP family, in the order of pod addresses
   * @throws RangeError for an invalid CIDR
   */
  constructor(readonly cidrs: readonly string[]) {
    this.ranges = cidrs.map((cidr) => new AddressRange(cidr));
  }

  /** Allocates addresses for a pod, or returns its existing ones; undefined = a range is exhausted. */
  take(pod: string): readonly string[] | undefined {
    const taken = this.ranges.map((range) => range.take(pod));
    const addresses = taken.filter((each) => each !== undefined);
    if (addresses.length === taken.length) return addresses;
    this.release(pod);
    return undefined;
  }

  /** Marks existing addresses of a pod as allocated, e.g. after a restart. */
  keep(pod: string, addresses: readonly string[]): void {
    for (const range of this.ranges) {
      for (const address of addresses) range.keep(pod, address);
    }
  }

  release(pod: string): void {
    for (const range of this.ranges) range.release(pod);
  }
}

/** Allocator of one range; released addresses are reused last. */
class AddressRange {
  private readonly start: IpAddress;
  private readonly size: number;
  private readonly used = new Map<number, string>();
  private readonly byPod = new Map<string, number>();
  private next = reserved;

  /** @throws RangeError for an invalid CIDR */
  constructor(cidr: string) {
    const range = parseCidr(cidr);
    if (range === undefined) throw new RangeError(`${JSON.stringify(cidr)} is not a CIDR`);
    const { address, prefix } = networkOf(range);
    this.start = address;
    const hostBits = address.length * 8 - prefix;
    this.size = Math.min(2 ** hostBits, maxAddresses);
  }

  /** Allocates an address for a pod, or returns its existing one; undefined = exhausted. */
  take(pod: string): string | undefined {
    const known = this.byPod.get(pod);
    if (known !== undefined) return this.text(known);
    for (let tries = 0; tries < this.size; tries++) {
      const at = this.next;
      this.next = at + 1 >= this.size - 1 ? reserved : at + 1;
      if (at >= this.size || this.used.has(at)) continue;
      this.mark(pod, at);
      return this.text(at);
    }
    return undefined;
  }

  /** Marks an existing address of a pod as allocated, e.g. after a restart. */
  keep(pod: string, ip: string): void {
    const at = this.offsetOf(ip);
    if (at !== undefined && !this.used.has(at)) this.mark(pod, at);
  }

  release(pod: string): void {
    const at = this.byPod.get(pod);
    if (at === undefined) return;
    this.byPod.delete(pod);
    this.used.delete(at);
  }

  private mark(pod: string, at: number): void {
    this.used.set(at, pod);
    this.byPod.set(pod, at);
  }

  private text(offset: number): string {
    const bytes = [...this.start];
    for (let at = bytes.length - 1, rest = offset; rest > 0; at--) {
      const sum = bytes[at]! + (rest & 0xff);
      bytes[at] = sum & 0xff;
      rest = (rest >>> 8) + (sum >>> 8);
    }
    return formatIp(bytes);
  }

  private offsetOf(ip: string): number | undefined {
    const address = parseIp(ip);
    if (address === undefined || address.length !== this.start.length) return undefined;
    let offset = 0;
    for (let at = 0; at < address.length; at++) {
      offset = offset * 256 + address[at]! - this.start[at]!;
      if (Math.abs(offset) > maxAddresses) return undefined;
    }
    return offset >= 0 && offset < this.size ? offset : undefined;
  }
}

/** podCIDRs of a node with this number, if no controller allocates them. */
export function ownPodCidrs(
  { podCidr, secondaryAddress }: Pick<NodesSettings, "podCidr" | "secondaryAddress">,
  node: number,
): readonly string[] {
  const cidr = ownPodCidr(podCidr, node);
  return secondaryAddress === undefined ? [cidr] : [cidr, ownIpv6PodCidr(node)];
}

/** Default podCIDR: the /24 of `range` with the node's number. */
function ownPodCidr(range: string, node: number): string {
  const parsed = parseCidr(range);
  if (parsed === undefined || parsed.address.length !== 4 || parsed.prefix > 24) {
    throw new RangeError(`${JSON.stringify(range)} is no IPv4 range of at least 256 addresses`);
  }
  const [a = 0, b = 0, c = 0] = networkOf(parsed).address;
  const first = a * 65_536 + b * 256 + c;
  const network = first + (node % 2 ** (24 - parsed.prefix));
  return `${(network >> 16) & 255}.${(network >> 8) & 255}.${network & 255}.0/24`;
}

/** Default IPv6 podCIDR: the /64 with the node's number. */
function ownIpv6PodCidr(node: number): string {
  return `${ipv6Prefix}:${(node % 2 ** 16).toString(16)}::/64`;
}

/** Prefix of the default IPv6 podCIDRs (unique local addresses). */
const ipv6Prefix = "fd00:6b65:656c";
