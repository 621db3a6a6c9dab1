/** Kubernetes' IP and CIDR libraries. */
import {
  type Cidr,
  cidrContains,
  formatIp,
  type IpAddress,
  isGlobalUnicast,
  isIpv4Mapped,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  maskedIp,
} from "#base";
import { goQuote } from "#meta";
import { parseAddress, parsePrefix } from "./go-addresses.ts";
import { define, type Library, overload, readType } from "../../check/declare.ts";
import { CelFault, noSuchOverload, Opaque, type Value } from "../../value/values.ts";

const ipType = "net.IP";
const cidrType = "net.CIDR";

type Ip = Opaque<IpAddress>;
type CidrValue = Opaque<Cidr>;

/** Parses an IP address without zone that is not IPv4-mapped. @throws CelFault */
function parseIp(text: string): IpAddress {
  const quoted = goQuote(text);
  const { address, zone } = withErrorPrefix(`IP Address ${quoted}`, () => parseAddress(text));
  if (zone !== "") throw new CelFault(`IP address ${quoted} with zone value is not allowed`);
  if (isIpv4Mapped(address)) {
    throw new CelFault(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
  }
  return address;
}

/** Calls `read`, and prefixes the message of its fault with `what`. */
function withErrorPrefix<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    throw new CelFault(`${what} parse error during conversion from string: ${error.message}`);
  }
}

function ip(address: IpAddress): Ip {
  return new Opaque(ipType, address, formatIp(address));
}

function cidr({ address, prefix }: Cidr): CidrValue {
  return new Opaque(cidrType, { address, prefix }, `${formatIp(address)}/${prefix}`);
}

function parseNetwork(text: string): CidrValue {
  // Kubernetes' message has the prefix twice.
  const what = "network address";
  return withErrorPrefix(what, () => {
    const network = withErrorPrefix(what, () => parsePrefix(text));
    if (!isIpv4Mapped(network.address)) return cidr(network);
    throw new CelFault(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  });
}

function containsAddress({ content }: CidrValue, address: IpAddress): boolean {
  return cidrContains(content, address);
}

function containsNetwork(network: CidrValue, { content }: CidrValue): boolean {
  return content.prefix >= network.content.prefix && containsAddress(network, content.address);
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

/** Parses an address without a detailed error, as Kubernetes does here. */
function comparable(text: string): IpAddress {
  try {
    return parseIp(text);
  } catch (error) {
    throw error instanceof CelFault ? noSuchOverload() : error;
  }
}

const classes = {
  isUnspecified,
  isLoopback,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isGlobalUnicast,
};

export const addressLibrary: Library = {
  types: [readType(ipType), readType(cidrType)],
  functions: [
    define(
      "ip",
      overload("string_to_ip", `(string) -> ${ipType}`, (text: string) => ip(parseIp(text))),
      overload("cidr_ip", `${cidrType}.() -> ${ipType}`, ({ content }: CidrValue) =>
        ip(content.address),
      ),
    ),
    define("isIP", overload("is_ip", "(string) -> bool", accepts(parseIp))),
    define(
      "ip.isCanonical",
      overload(
        "ip_is_canonical",
        "(string) -> bool",
        (text: string) => formatIp(parseIp(text)) === text,
      ),
    ),
    define(
      "family",
      overload("ip_family", `${ipType}.() -> int`, ({ content }: Ip) =>
        content.length === 4 ? 4 : 6,
      ),
    ),
    ...Object.entries(classes).map(([name, test]) =>
      define(
        name,
        overload(`ip_${name}`, `${ipType}.() -> bool`, ({ content }: Ip) => test(content)),
      ),
    ),
    define(
      "string",
      overload("ip_to_string", `(${ipType}) -> string`, ({ key }: Ip) => String(key)),
      overload("cidr_to_string", `(${cidrType}) -> string`, ({ key }: CidrValue) => String(key)),
    ),
    define("cidr", overload("string_to_cidr", `(string) -> ${cidrType}`, parseNetwork)),
    define("isCIDR", overload("is_cidr", "(string) -> bool", accepts(parseNetwork))),
    define(
      "containsIP",
      overload(
        "cidr_contains_ip_string",
        `${cidrType}.(string) -> bool`,
        (network: CidrValue, text: string) => containsAddress(network, comparable(text)),
      ),
      overload(
        "cidr_contains_ip_ip",
        `${cidrType}.(${ipType}) -> bool`,
        (network: CidrValue, other: Ip) => containsAddress(network, other.content),
      ),
    ),
    define(
      "containsCIDR",
      overload(
        "cidr_contains_cidr_string",
        `${cidrType}.(string) -> bool`,
        (network: CidrValue, text: string) => containsNetwork(network, parseNetwork(text)),
      ),
      overload("cidr_contains_cidr", `${cidrType}.(${cidrType}) -> bool`, containsNetwork),
    ),
    define(
      "masked",
      overload("cidr_masked", `${cidrType}.() -> ${cidrType}`, ({ content }: CidrValue) =>
        cidr({ address: maskedIp(content), prefix: content.prefix }),
      ),
    ),
    define(
      "prefixLength",
      overload(
        "cidr_prefix_length",
        `${cidrType}.() -> int`,
        ({ content }: CidrValue) => content.prefix,
      ),
    ),
  ],
};
