import { assert, formatIp, ipFamily, parseCidr, parseIp } from "#base";

/**
 * The addresses of a CIDR for services: all but the first (the network address, or the subnet-router
 * anycast address of IPv6) and, for IPv4, the last (broadcast).
 *
 * The range has two bands (KEP-3070): the server allocates from the upper one while it has free
 * addresses, so that addresses that clients choose from the lower one seldom conflict.
 *
 *     10.0.0.0/24: 10.0.0.1 to 10.0.0.16 below, 10.0.0.17 to 10.0.0.254 above
 */
export class AddressRange {
  private constructor(
    readonly family: "IPv4" | "IPv6",
    /** Network address, and the number of leading bits that all addresses share. */
    private readonly net: { readonly base: bigint; readonly prefix: number },
    /** Number of usable addresses. */
    readonly count: number,
    /** Number of usable addresses in the lower band. */
    readonly lower: number,
  ) {}

  /** Undefined for a malformed CIDR and for one without usable addresses. */
  static parse(cidr: string): AddressRange | undefined {
    const network = parseCidr(cidr);
    if (network === undefined) return undefined;
    const { address, prefix } = network;
    const bits = address.length * 8 - prefix;
    // Of larger networks, only the first 2^32 addresses are used.
    const size = 2 ** Math.min(bits, largestBits);
    const isV4 = address.length === 4;
    const count = size - (isV4 && bits <= largestBits ? 2 : 1);
    if (count < 1) return undefined;
    const base = (numberOf(address) >> BigInt(bits)) << BigInt(bits);
    const family = isV4 ? "IPv4" : "IPv6";
    return new AddressRange(family, { base, prefix }, count, Math.min(lowerBand(size), count));
  }

  /** Network address, which is not usable. */
  get network(): string {
    return formatNumber(this.net.base, this.family);
  }

  get cidr(): string {
    return `${this.network}/${this.net.prefix}`;
  }

  /** The address at `index`, from zero, in canonical form. */
  at(index: number): string {
    assert(index >= 0 && index < this.count, "an address of the range");
    return formatNumber(this.net.base + 1n + BigInt(index), this.family);
  }

  /** Whether the address, in any notation, is a usable one of the range. */
  contains(text: string): boolean {
    const address = parseIp(canonicalAddress(text) ?? "");
    if (address === undefined || ipFamily(text) !== this.family) return false;
    const offset = numberOf(address) - this.net.base;
    return offset >= 1n && offset <= BigInt(this.count);
  }
}

const largestBits = 32;

/** Size of the lower band: a sixteenth of the network, at least 16 and at most 256; 0 below 16. */
function lowerBand(size: number): number {
  if (size < 16) return 0;
  return Math.min(Math.max(16, Math.floor(size / 16)), 256);
}

/** The canonical notation of an IP address; undefined for other texts. */
export function canonicalAddress(text: string): string | undefined {
  const address = parseIp(text);
  return address === undefined ? undefined : formatIp(address);
}

function numberOf(address: readonly number[]): bigint {
  return address.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

function formatNumber(number: bigint, family: "IPv4" | "IPv6"): string {
  const length = family === "IPv4" ? 4 : 16;
  const bytes = Array.from({ length }, (_, index) =>
    Number((number >> BigInt((length - 1 - index) * 8)) & 0xffn),
  );
  return formatIp(bytes);
}

/** The first usable address of a CIDR, that of the Service `kubernetes`; "" for a malformed CIDR. */
export function firstAddress(cidr: string): string {
  return AddressRange.parse(cidr)?.at(0) ?? "";
}
