import type { PortRange } from "../contract.ts";
/**
 * The allocated ports of a range as a bitmap, stored as in kube-apiserver's RangeAllocation: one
 * big-endian integer, whose lowest bit is the first port.
 *
 *     ports 30000 and 30009 of 30000-32767: base64 of 02 01
 */
export class PortSet {
  private constructor(
    readonly range: PortRange,
    private readonly bits: Uint8Array,
  ) {}

  static empty(range: PortRange): PortSet {
    return new PortSet(range, new Uint8Array(Math.ceil(sizeOf(range) / 8)));
  }

  /** Decodes a stored set, whose range may differ; ports outside of `range` are dropped. */
  static stored(
    range: PortRange,
    stored: { readonly range: string; readonly data: string },
  ): PortSet {
    const set = PortSet.empty(range);
    const first = Number.parseInt(stored.range, 10);
    const bytes = Buffer.from(stored.data, "base64").reverse();
    for (let at = 0; at < bytes.length * 8; at++) {
      if (((bytes[at >> 3]! >> (at & 7)) & 1) === 1 && set.inRange(first + at)) set.add(first + at);
    }
    return set;
  }

  /** Base64, without leading zero bytes. */
  data(): string {
    let length = this.bits.length;
    while (length > 0 && this.bits[length - 1] === 0) length--;
    return Buffer.from(this.bits.subarray(0, length)).reverse().toString("base64");
  }

  clone(): PortSet {
    return new PortSet(this.range, this.bits.slice());
  }

  inRange(port: number): boolean {
    return port >= this.range.first && port <= this.range.last;
  }
  has(port: number): boolean {
    const at = port - this.range.first;
    return this.inRange(port) && ((this.bits[at >> 3]! >> (at & 7)) & 1) === 1;
  }
  add(port: number): void {
    const at = port - this.range.first;
    this.bits[at >> 3]! |= 1 << (at & 7);
  }
  delete(port: number): void {
    if (!this.inRange(port)) return;
    const at = port - this.range.first;
    this.bits[at >> 3]! &= ~(1 << (at & 7));
  }
  ports(): number[] {
    const { first, last } = this.range;
    const all = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    return all.filter((port) => this.has(port));
  }

  /**
   * A free port, searched from a random one that `below` picks; undefined if all are allocated. Ports of
   * the lower band, reserved for requests by clients (KEP-3668), are last.
   */
  free(below: (limit: number) => number): number | undefined {
    const { first } = this.range;
    const size = sizeOf(this.range);
    const lower = lowerBand(size);
    const upper = this.freeWithin(first + lower, size - lower, below);
    return upper ?? this.freeWithin(first, lower, below);
  }

  private freeWithin(
    first: number,
    count: number,
    below: (limit: number) => number,
  ): number | undefined {
    if (count === 0) return undefined;
    const start = below(count);
    for (let step = 0; step < count; step++) {
      const port = first + ((start + step) % count);
      if (!this.has(port)) return port;
    }
    return undefined;
  }
}

/** `30000-32767`. */
export function rangeText({ first, last }: PortRange): string {
  return `${first}-${last}`;
}

function sizeOf({ first, last }: PortRange): number {
  return last - first + 1;
}

/** A thirty-second of the range, at least 16 and at most 128; none of a range that small. */
function lowerBand(size: number): number {
  if (size <= 16) return 0;
  return Math.min(Math.max(16, Math.floor(size / 32)), 128);
}
