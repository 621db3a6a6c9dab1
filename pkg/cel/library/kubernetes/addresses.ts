/** IP addresses and blocks of them. */
import { isIPv4, isIPv6 } from "node:net";
import { define, type Library, overload, readType } from "../../check/declare.ts";
import { CelFault, Opaque, type Value } from "../../value/values.ts";

const IP = "net.IP";
const CIDR = "net.CIDR";

interface Address {
  readonly bits: 32 | 128;
  readonly number: bigint;
}

interface Block {
  readonly address: Address;
  readonly length: number;
}

type Ip = Opaque<Address>;
type Cidr = Opaque<Block>;

function ipv4(text: string): bigint {
  return text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function ipv6(text: string): bigint {
  const dotted = /^(.*:)([\d.]+\.[\d.]+)$/.exec(text);
  const tail = dotted === null ? 0n : ipv4(dotted[2] ?? "");
  const plain =
    dotted === null
      ? text
      : `${dotted[1] ?? ""}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [head = "", rest] = plain.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = rest === undefined || rest === "" ? [] : rest.split(":");
  const zeros = new Array<string>(8 - before.length - after.length).fill("0");
  return [...before, ...zeros, ...after].reduce(
    (sum, group) => sum * 65_536n + BigInt(`0x${group}`),
    0n,
  );
}

/** Strict: no leading zeros, no zones, no IPv4 inside IPv6. Throws CelFault. */
function parseAddress(text: string): Address {
  if (isIPv4(text)) return { bits: 32, number: ipv4(text) };
  if (text.includes("%")) {
    throw new CelFault(`IP address ${JSON.stringify(text)} with zone value is not allowed`);
  }
  if (!isIPv6(text)) {
    const quoted = JSON.stringify(text);
    const words = `ParseAddr(${quoted}): unable to parse IP`;
    throw new CelFault(`IP Address ${quoted} parse error during conversion from string: ${words}`);
  }
  const number = ipv6(text);
  if (number >> 32n === 0xffffn) {
    throw new CelFault(`IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
  }
  return { bits: 128, number };
}

function formatAddress({ bits, number }: Address): string {
  if (bits === 32) {
    return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join(".");
  }
  const groups = Array.from({ length: 8 }, (_none, at) =>
    ((number >> BigInt(112 - at * 16)) & 0xffffn).toString(16),
  );
  const longest = longestZeros(groups);
  if (longest.length < 2) return groups.join(":");
  const head = groups.slice(0, longest.start).join(":");
  return `${head}::${groups.slice(longest.start + longest.length).join(":")}`;
}

function longestZeros(groups: readonly string[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  groups.forEach((group, at) => {
    if (group !== "0") start = at + 1;
    else if (at + 1 - start > best.length) best = { start, length: at + 1 - start };
  });
  return best;
}

function ip(address: Address): Ip {
  return new Opaque(IP, address, formatAddress(address));
}

function cidr(block: Block): Cidr {
  return new Opaque(CIDR, block, `${formatAddress(block.address)}/${block.length}`);
}

function parseBlock(text: string): Cidr {
  const [, host = "", length = ""] = /^(.*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const quoted = JSON.stringify(text);
  const invalid = new CelFault(
    `network address parse error during conversion from string: invalid CIDR address: ${quoted}`,
  );
  if (length === "") throw invalid;
  const address = parseAddress(host);
  if (Number(length) > address.bits) throw invalid;
  return cidr({ address, length: Number(length) });
}

function masked({ address, length }: Block): Address {
  const rest = BigInt(address.bits - length);
  return { bits: address.bits, number: (address.number >> rest) << rest };
}

function containsAddress({ content }: Cidr, address: Address): boolean {
  if (content.address.bits !== address.bits) return false;
  const own = masked(content);
  return masked({ address, length: content.length }).number === own.number;
}

function containsBlock(block: Cidr, { content }: Cidr): boolean {
  return content.length >= block.content.length && containsAddress(block, content.address);
}

function accepts(parse: (text: string) => unknown): (text: string) => Value {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch (error) {
      if (error instanceof CelFault) return false;
      throw error;
    }
  };
}

type Test = (address: Address) => boolean;

const top = ({ bits, number }: Address, count: number): bigint => number >> BigInt(bits - count);
const isUnspecified: Test = ({ number }) => number === 0n;
const isLoopback: Test = (address) =>
  address.bits === 32 ? top(address, 8) === 127n : address.number === 1n;
const isLinkLocalMulticast: Test = (address) =>
  address.bits === 32 ? top(address, 24) === 0xe00000n : top(address, 16) === 0xff02n;
const isLinkLocalUnicast: Test = (address) =>
  address.bits === 32 ? top(address, 16) === 0xa9fen : top(address, 10) === 0x3fan;
const isMulticast: Test = (address) =>
  address.bits === 32 ? top(address, 4) === 0xen : top(address, 8) === 0xffn;
const isGlobalUnicast: Test = (address) =>
  !isUnspecified(address) &&
  !isLoopback(address) &&
  !isMulticast(address) &&
  !isLinkLocalUnicast(address) &&
  !(address.bits === 32 && address.number === 0xffffffffn);

const tests = {
  isUnspecified,
  isLoopback,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isGlobalUnicast,
};

export const addressLibrary: Library = {
  types: [readType(IP), readType(CIDR)],
  functions: [
    define(
      "ip",
      overload("string_to_ip", `(string) -> ${IP}`, (text: string) => ip(parseAddress(text))),
      overload("cidr_ip", `${CIDR}.() -> ${IP}`, ({ content }: Cidr) => ip(content.address)),
    ),
    define("isIP", overload("is_ip", "(string) -> bool", accepts(parseAddress))),
    define(
      "ip.isCanonical",
      overload(
        "ip_is_canonical",
        "(string) -> bool",
        (text: string) => formatAddress(parseAddress(text)) === text,
      ),
    ),
    define(
      "family",
      overload("ip_family", `${IP}.() -> int`, ({ content }: Ip) => (content.bits === 32 ? 4 : 6)),
    ),
    ...Object.entries(tests).map(([name, test]) =>
      define(
        name,
        overload(`ip_${name}`, `${IP}.() -> bool`, ({ content }: Ip) => test(content)),
      ),
    ),
    define(
      "string",
      overload("ip_to_string", `(${IP}) -> string`, ({ key }: Ip) => String(key)),
      overload("cidr_to_string", `(${CIDR}) -> string`, ({ key }: Cidr) => String(key)),
    ),
    define("cidr", overload("string_to_cidr", `(string) -> ${CIDR}`, parseBlock)),
    define("isCIDR", overload("is_cidr", "(string) -> bool", accepts(parseBlock))),
    define(
      "containsIP",
      overload("cidr_contains_ip_string", `${CIDR}.(string) -> bool`, (block: Cidr, text: string) =>
        containsAddress(block, parseAddress(text)),
      ),
      overload("cidr_contains_ip", `${CIDR}.(${IP}) -> bool`, (block: Cidr, other: Ip) =>
        containsAddress(block, other.content),
      ),
    ),
    define(
      "containsCIDR",
      overload(
        "cidr_contains_cidr_string",
        `${CIDR}.(string) -> bool`,
        (block: Cidr, text: string) => containsBlock(block, parseBlock(text)),
      ),
      overload("cidr_contains_cidr", `${CIDR}.(${CIDR}) -> bool`, containsBlock),
    ),
    define(
      "masked",
      overload("cidr_masked", `${CIDR}.() -> ${CIDR}`, ({ content }: Cidr) =>
        cidr({ address: masked(content), length: content.length }),
      ),
    ),
    define(
      "prefixLength",
      overload("cidr_prefix_length", `${CIDR}.() -> int`, ({ content }: Cidr) => content.length),
    ),
  ],
};
