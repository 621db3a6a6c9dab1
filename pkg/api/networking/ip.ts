/** Addresses as Kubernetes reads and writes them: Go's net.IP, not Node's. */

/** Four or sixteen bytes. */
export type Address = readonly number[];

/** `10.9.8.7`; leading zeros are decimal, as they were long accepted. */
function parseV4(text: string): Address | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  if (!parts.every((part) => /^0*[0-9]{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.map(Number);
}

/** Groups of `a:b:c`, the last of which may be an IPv4 address; undefined if malformed. */
function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (index === groups.length - 1 && group.includes(".")) {
      const tail = parseV4(group);
      if (tail === undefined) return undefined;
      bytes.push(...tail);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 255);
    } else return undefined;
  }
  return bytes;
}

function parseV6(text: string): Address | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = [parseGroups(halves[0] ?? ""), parseGroups(halves[1] ?? "")];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1) return missing === 0 ? head : undefined;
  if (missing < 2 || (halves[0] ?? "").includes(".")) return undefined;
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail];
}

/** Undefined unless `text` is an address without a zone. */
export function parseAddress(text: string): Address | undefined {
  return text.includes(":") ? parseV6(text) : parseV4(text);
}

/** An IPv4 address in IPv6 clothes: `::ffff:192.0.2.1`. */
export function isMapped(address: Address): boolean {
  if (address.length !== 16 || address[10] !== 255 || address[11] !== 255) return false;
  return address.slice(0, 10).every((byte) => byte === 0);
}

/** Canonical text (RFC 5952); a mapped address is written as the IPv4 address that it is. */
export function formatAddress(address: Address): string {
  if (address.length === 4) return address.join(".");
  if (isMapped(address)) return address.slice(12).join(".");
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((address[i] ?? 0) << 8) | (address[i + 1] ?? 0));
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

const hasLeadingZeros = (text: string) => text.split(/[.:]/).some((part) => /^0[0-9]/.test(part));

/** What is wrong with `text` as the one way to write an address; empty if nothing is. */
export function checkAddress(text: string): readonly string[] {
  const address = parseAddress(text);
  if (address === undefined) {
    return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
  }
  const messages: string[] = [];
  if (text.includes(".") && hasLeadingZeros(text.slice(text.lastIndexOf(":") + 1))) {
    messages.push("must not have leading 0s");
  }
  if (isMapped(address)) messages.push("must not be an IPv4-mapped IPv6 address");
  if (messages.length > 0 || text === formatAddress(address)) return messages;
  return [`must be in canonical form (${JSON.stringify(formatAddress(address))})`];
}
