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
function isMapped(address: Address): boolean {
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

/** For what is no address in any spelling. */
export const NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/** A warning for an old spelling of an address; undefined for a proper one. */
export function addressWarning(text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const canonical = formatAddress(address);
  if (hasLeadingZeros(text) && text.includes("."))
    return nonStandard("IP address", text, canonical);
  if (isMapped(address)) return nonStandard("IP address", text, canonical);
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

/** For what is no network in any spelling. */
export const NOT_A_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

export interface Network {
  readonly address: Address;
  /** Number of leading bits that are fixed. */
  readonly prefix: number;
}

/** `10.0.0.0/8`; bits beyond the prefix may be set. */
export function parseNetwork(text: string): Network | undefined {
  const [left = "", right = "", more] = text.split("/");
  const address = parseAddress(left);
  if (address === undefined || more !== undefined || !/^(0|[1-9][0-9]*)$/.test(right)) {
    return undefined;
  }
  const prefix = Number(right);
  return prefix <= address.length * 8 ? { address, prefix } : undefined;
}

/** The first address of a network. */
function masked({ address, prefix }: Network): Address {
  return address.map((byte, index) => {
    const bits = Math.min(Math.max(prefix - index * 8, 0), 8);
    return byte & (0xff << (8 - bits)) & 0xff;
  });
}

/** True if `inner` lies within `outer` and is smaller. */
export function isStrictSubset(inner: Network, outer: Network): boolean {
  if (inner.address.length !== outer.address.length || inner.prefix <= outer.prefix) return false;
  const within = masked({ address: inner.address, prefix: outer.prefix });
  return formatAddress(within) === formatAddress(masked(outer));
}

/** A warning for an odd spelling of a network; undefined for a proper one. */
export function networkWarning(text: string): string | undefined {
  const network = parseNetwork(text);
  if (network === undefined) return undefined;
  const [spelled = ""] = text.split("/");
  const { address, prefix } = network;
  const whole = `${formatAddress(masked(network))}/${prefix}`;
  if (spelled.includes(".") && hasLeadingZeros(spelled)) {
    return nonStandard("CIDR value", text, `${formatAddress(address)}/${prefix}`);
  }
  if (formatAddress(address) !== formatAddress(masked(network))) {
    const single = `${formatAddress(address)}/${address.length * 8}`;
    const choice = `should be ${quote(whole)} or ${quote(single)}?`;
    return `CIDR value ${quote(text)} is ambiguous in this context (${choice})`;
  }
  if (text === whole) return undefined;
  return `IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(whole)})`;
}

/** Why traffic cannot be sent to an address that names no single other machine. */
export function unreachableReason(address: Address): string | undefined {
  const [first = 0, second = 0] = address;
  const text = formatAddress(address);
  const isV4 = address.length === 4 || isMapped(address);
  const starts = isV4 ? text.split(".").map(Number) : address;
  const [a = 0, b = 0, c = 0] = starts;
  if (isV4 ? text === "0.0.0.0" : text === "::") return `may not be unspecified (${text})`;
  if (isV4 ? a === 127 : text === "::1") {
    return "may not be in the loopback range (127.0.0.0/8, ::1/128)";
  }
  if (isV4 ? a === 169 && b === 254 : first === 0xfe && (second & 0xc0) === 0x80) {
    return "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
  }
  const isLocalMulticast = isV4
    ? a === 224 && b === 0 && c === 0
    : isV6LocalMulticast(first, second);
  if (isLocalMulticast) {
    return "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
  }
  return undefined;
}

const isV6LocalMulticast = (first: number, second: number) => first === 0xff && (second & 15) === 2;

const hasLeadingZeros = (text: string) => text.split(/[.:]/).some((part) => /^0[0-9]/.test(part));

/** What is wrong with `text` as the one way to write an address; empty if nothing is. */
export function checkAddress(text: string): readonly string[] {
  const address = parseAddress(text);
  if (address === undefined) {
    return [NOT_AN_ADDRESS];
  }
  const messages: string[] = [];
  if (text.includes(".") && hasLeadingZeros(text.slice(text.lastIndexOf(":") + 1))) {
    messages.push("must not have leading 0s");
  }
  if (isMapped(address)) messages.push("must not be an IPv4-mapped IPv6 address");
  if (messages.length > 0 || text === formatAddress(address)) return messages;
  return [`must be in canonical form (${JSON.stringify(formatAddress(address))})`];
}

/** What is wrong with `text` as the one way to write a network; empty if nothing is. */
export function checkNetwork(text: string): readonly string[] {
  const network = parseNetwork(text);
  if (network === undefined) return [NOT_A_NETWORK];
  const { address, prefix } = network;
  const spelled = text.slice(0, text.indexOf("/"));
  if (spelled.includes(".") && hasLeadingZeros(spelled.slice(spelled.lastIndexOf(":") + 1))) {
    return ["must not have leading 0s in IP or prefix length"];
  }
  const messages: string[] = [];
  if (isMapped(address)) messages.push("must not have an IPv4-mapped IPv6 address");
  if (formatAddress(address) !== formatAddress(masked(network))) {
    messages.push("must not have bits set beyond the prefix length");
  }
  const canonical = `${formatAddress(address)}/${prefix}`;
  if (messages.length > 0 || text === canonical) return messages;
  return [`must be in canonical form (${JSON.stringify(canonical)})`];
}
