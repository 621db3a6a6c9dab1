import { type Cidr, cidrContains, formatNetwork, type IpAddress, networkOf } from "#base";

/** A cluster IPv6 network holds at most 2^16 node networks, as in kube-controller-manager. */
const maxBitsIpv6 = 16;

/** Range of indexes, inclusive. */
interface Span {
  readonly first: number;
  readonly last: number;
}

/** Allocator of equal-sized node networks (CIDRs) within a cluster network. */
export class CidrSet {
  /** Number of networks. */
  readonly size: number;
  /** The cluster network in CIDR notation. */
  readonly label: string;
  private readonly bits: number;
  private readonly base: bigint;
  private readonly used = new Set<number>();
  private readonly reserved: Span[] = [];
  private candidate = 0;

  /** @throws RangeError if the prefix is invalid for the network */
  constructor(
    private readonly cluster: Cidr,
    private readonly prefix: number,
  ) {
    const network = networkOf(cluster);
    this.bits = network.address.length * 8;
    const free = prefix - network.prefix;
    this.label = formatNetwork(network);
    if (free < 0 || prefix > this.bits) {
      throw new RangeError(`no networks with prefix ${prefix} are within ${this.label}`);
    }
    if (this.bits === 128 && free > maxBitsIpv6) {
      throw new RangeError(
        `${this.label} has too many networks with prefix ${prefix}: the prefixes may differ by ` +
          `${maxBitsIpv6} at most`,
      );
    }
    this.size = 2 ** free;
    this.base = numberOf(network.address);
  }

  /** Fraction of the networks that are in use. */
  get usage(): number {
    const reserved = this.reserved.reduce((sum, { first, last }) => sum + last - first + 1, 0);
    return Math.min((this.used.size + reserved) / this.size, 1);
  }

  /** Allocates the next free network; undefined = none is free. */
  allocate(): string | undefined {
    let { candidate } = this;
    for (let tries = 0; tries <= this.used.size; tries++) {
      const index = this.afterReserved(candidate);
      if (index === undefined) return undefined;
      candidate = (index + 1) % this.size;
      if (this.used.has(index)) continue;
      this.candidate = candidate;
      this.used.add(index);
      return this.networkAt(index);
    }
    return undefined;
  }

  /**
   * Marks the networks that overlap with `cidr` as used.
   * @throws RangeError if there are none
   */
  occupy(cidr: Cidr): void {
    for (const index of this.indexesOf(cidr)) this.used.add(index);
  }

  /** @throws RangeError if `cidr` is outside of the cluster network */
  release(cidr: Cidr): void {
    for (const index of this.indexesOf(cidr)) this.used.delete(index);
  }

  /** Never allocates networks that overlap with `cidr`. */
  reserve(cidr: Cidr): void {
    const span = this.spanOf(cidr);
    if (span !== undefined) this.reserved.push(span);
  }

  private *indexesOf(cidr: Cidr): Iterable<number> {
    const span = this.spanOf(cidr);
    if (span === undefined) {
      const text = formatNetwork(cidr);
      throw new RangeError(`cidr ${text} is out the range of cluster cidr ${this.label}`);
    }
    for (let index = span.first; index <= span.last; index++) yield index;
  }

  /** First index at or after `index` (wrapping around) that is not reserved; undefined = none. */
  private afterReserved(index: number): number | undefined {
    let at = index;
    for (let spans = 0; spans <= this.reserved.length * 2; spans++) {
      const span = this.reserved.find(({ first, last }) => first <= at && at <= last);
      if (span === undefined) return at;
      at = (span.last + 1) % this.size;
    }
    return undefined;
  }

  /** Indexes of the networks that overlap with `cidr`; undefined = none. */
  private spanOf(cidr: Cidr): Span | undefined {
    const other = networkOf(cidr);
    const cluster = networkOf(this.cluster);
    if (other.address.length !== cluster.address.length) return undefined;
    if (cidrContains(other, cluster.address) && other.prefix <= cluster.prefix) {
      return { first: 0, last: this.size - 1 };
    }
    if (!cidrContains(cluster, other.address)) return undefined;
    const start = numberOf(other.address);
    const end = start | ((1n << BigInt(this.bits - other.prefix)) - 1n);
    return { first: this.indexOf(start), last: this.indexOf(end) };
  }

  private indexOf(address: bigint): number {
    return Number((address - this.base) >> BigInt(this.bits - this.prefix));
  }

  private networkAt(index: number): string {
    const number = this.base + (BigInt(index) << BigInt(this.bits - this.prefix));
    const hex = number.toString(16).padStart(this.bits / 4, "0");
    const address = [...Buffer.from(hex, "hex")];
    return formatNetwork({ address, prefix: this.prefix });
  }
}

function numberOf(address: IpAddress): bigint {
  return BigInt(`0x${Buffer.from(address).toString("hex")}`);
}
