/** Parses, formats and classifies IP addresses as Go's net and netip packages do. */

/** The bytes of an address: 4 for IPv4, 16 for IPv6. */
export type IpAddress = readonly number[];

/**
 * Reads an address as `net.ParseIP` did before Go 1.17, and as Kubernetes still does for existing
 * fields: decimal numbers may have leading zeros (`010.0.0.1` is 10.0.0.1). Undefined for anything
 * else, addresses with a zone included.
 */
export function parseIp(text: string): IpAddress | undefined {
  return parse(text, /^0*[0-9]{1,3}$/);
}

/** Reads an address as `netip.ParseAddr` does, but without a zone: no leading zeros. */
export function parseStrictIp(text: string): IpAddress | undefined {
  return parse(text, /^(?:0|[1-9][0-9]{0,2})$/);
}

function parse(text: string, decimal: RegExp): IpAddress | undefined {
  return text.includes(":") ? parseIpv6(text, decimal) : parseIpv4(text, decimal);
}

function parseIpv4(text: string, decimal: RegExp): IpAddress | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const isValid = parts.every((part) => decimal.test(part) && Number(part) < 256);
  return isValid ? parts.map(Number) : undefined;
}

function parseIpv6(text: string, decimal: RegExp): IpAddress | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [before = "", after = ""] = halves;
  const [head, tail] = [parseGroups(before, decimal), parseGroups(after, decimal)];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1) return missing === 0 ? head : undefined;
  if (missing < 2 || before.includes(".")) return undefined;
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail];
}

/** Bytes of `a:b:c`, the last group of which may be an IPv4 address. */
function parseGroups(text: string, decimal: RegExp): readonly number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (index === groups.length - 1 && group.includes(".")) {
      const tail = parseIpv4(group, decimal);
      if (tail === undefined) return undefined;
      bytes.push(...tail);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 255);
    } else return undefined;
  }
  return bytes;
}

/** True for an IPv4-mapped IPv6 address: `::ffff:192.0.2.1`. */
export function isIpv4Mapped(address: IpAddress): boolean {
  if (address.length !== 16 || address[10] !== 255 || address[11] !== 255) return false;
  return address.slice(0, 10).every((byte) => byte === 0);
}

/** Converts an IPv4-mapped address to IPv4; returns other addresses unchanged. */
function unmapped(address: IpAddress): IpAddress {
  return isIpv4Mapped(address) ? address.slice(12) : address;
}

/** Family of an address; IPv4 for IPv4-mapped ones, as in Kubernetes. */
export function ipFamily(text: string): "IPv4" | "IPv6" {
  const address = parseIp(text);
  if (address === undefined) return text.includes(":") ? "IPv6" : "IPv4";
  return unmapped(address).length === 4 ? "IPv4" : "IPv6";
}

/** Canonical text (RFC 5952), as `net.IP.String`: an IPv4-mapped address is written as IPv4. */
export function formatIp(address: IpAddress): string {
  const bytes = unmapped(address);
  if (bytes.length === 4) return bytes.join(".");
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  const hex = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");
  const { start, length } = longestZeros(groups);
  if (length < 2) return hex(groups);
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

/** The first of the longest runs of zeros. */
function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  return best;
}

/** 0.0.0.0 or ::. An IPv4-mapped address is classified as the IPv4 address, here and below. */
export function isUnspecified(address: IpAddress): boolean {
  return unmapped(address).every((byte) => byte === 0);
}

/** 127.0.0.0/8 or ::1. */
export function isLoopback(address: IpAddress): boolean {
  const bytes = unmapped(address);
  if (bytes.length === 4) return bytes[0] === 127;
  return bytes.every((byte, index) => byte === (index === 15 ? 1 : 0));
}

/** 169.254.0.0/16 or fe80::/10. */
export function isLinkLocalUnicast(address: IpAddress): boolean {
  const [first = 0, second = 0, ...rest] = unmapped(address);
  if (rest.length === 2) return first === 169 && second === 254;
  return first === 0xfe && (second & 0xc0) === 0x80;
}

/** 224.0.0.0/24, or ff02::/16 with any flags. */
export function isLinkLocalMulticast(address: IpAddress): boolean {
  const [first = 0, second = 0, third = 0, ...rest] = unmapped(address);
  if (rest.length === 1) return first === 224 && second === 0 && third === 0;
  return first === 0xff && (second & 0x0f) === 0x02;
}

/** 224.0.0.0/4 or ff00::/8. */
function isMulticast(address: IpAddress): boolean {
  const bytes = unmapped(address);
  const [first = 0] = bytes;
  return bytes.length === 4 ? (first & 0xf0) === 0xe0 : first === 0xff;
}

/** A unicast address that is not link-local; includes private ranges (Go's IsGlobalUnicast). */
export function isGlobalUnicast(address: IpAddress): boolean {
  const bytes = unmapped(address);
  const isBroadcast = bytes.length === 4 && bytes.every((byte) => byte === 255);
  return !(
    isBroadcast ||
    isUnspecified(bytes) ||
    isLoopback(bytes) ||
    isMulticast(bytes) ||
    isLinkLocalUnicast(bytes)
  );
}
