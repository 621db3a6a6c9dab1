/** Parses IP addresses and prefixes with the rules and error messages of Go's `net/netip`. */
import type { Cidr, IpAddress } from "#base";
import { goQuote } from "#meta";
import { CelFault } from "../../value/values.ts";

export interface ZonedAddress {
  readonly address: IpAddress;
  /** IPv6 zone; "" = none. */
  readonly zone: string;
}

/** A parse error, to which callers add the parsed text. */
class ParseFault extends Error {
  override readonly name = "Unread";
  constructor(why: string, at?: string) {
    super(at === undefined ? why : `${why} (at ${goQuote(at)})`);
  }
}

/** Throws CelFault: `ParseAddr("8.8.8"): IPv4 address too short`. */
export function parseAddress(text: string): ZonedAddress {
  try {
    const first = /[.:%]/.exec(text)?.[0];
    if (first === ".") return { address: ipv4(text), zone: "" };
    if (first === ":") return ipv6(text);
    throw new ParseFault(first === "%" ? "missing IPv6 address" : "unable to parse IP");
  } catch (error) {
    if (!(error instanceof ParseFault)) throw error;
    throw new CelFault(`ParseAddr(${goQuote(text)}): ${error.message}`);
  }
}

/** Throws CelFault: `netip.ParsePrefix("x"): no '/'`. */
export function parsePrefix(text: string): Cidr {
  const fault = (why: string): CelFault =>
    new CelFault(`netip.ParsePrefix(${goQuote(text)}): ${why}`);
  const slash = text.lastIndexOf("/");
  if (slash < 0) throw fault("no '/'");
  const { address, zone } = inPrefix(text.slice(0, slash), fault);
  if (zone !== "") throw fault("IPv6 zones cannot be present in a prefix");
  const bits = text.slice(slash + 1);
  if (!/^(?:\d|[1-9]\d{0,18})$/.test(bits)) {
    throw fault(`bad bits after slash: ${goQuote(bits)}`);
  }
  if (Number(bits) > address.length * 8) throw fault("prefix length out of range");
  return { address, prefix: Number(bits) };
}

function inPrefix(text: string, fault: (why: string) => CelFault): ZonedAddress {
  try {
    return parseAddress(text);
  } catch (error) {
    if (error instanceof CelFault) throw fault(error.message);
    throw error;
  }
}

function ipv4(text: string): number[] {
  const fields: number[] = [];
  let value = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    if (/\d/.test(character)) {
      if (digits === 1 && value === 0)
        throw new ParseFault("IPv4 field has octet with leading zero");
      value = value * 10 + Number(character);
      digits++;
      if (value > 255) throw new ParseFault("IPv4 field has value >255");
    } else if (character === ".") {
      if (at === 0 || at === text.length - 1 || text[at - 1] === ".") {
        throw new ParseFault("IPv4 field must have at least one digit", text.slice(at));
      }
      if (fields.length === 3) throw new ParseFault("IPv4 address too long");
      fields.push(value);
      value = 0;
      digits = 0;
    } else {
      throw new ParseFault("unexpected character", text.slice(at));
    }
  }
  if (fields.length < 3) throw new ParseFault("IPv4 address too short");
  return [...fields, value];
}

function ipv6(text: string): ZonedAddress {
  const percent = text.indexOf("%");
  const zone = percent < 0 ? "" : text.slice(percent + 1);
  if (percent >= 0 && zone === "") throw new ParseFault("zone must be a non-empty string");
  return { address: groups(percent < 0 ? text : text.slice(0, percent)), zone };
}

function groups(text: string): number[] {
  const bytes: number[] = [];
  let ellipsis = text.startsWith("::") ? 0 : -1;
  let rest = ellipsis === 0 ? text.slice(2) : text;
  if (ellipsis === 0 && rest === "") return new Array<number>(16).fill(0);
  while (bytes.length < 16) {
    const digits = hexDigits(rest);
    if (rest[digits.length] === ".") {
      bytes.push(...embedded(rest, { ellipsis, length: bytes.length }));
      rest = "";
      break;
    }
    const group = Number.parseInt(digits, 16);
    bytes.push(group >> 8, group & 0xff);
    rest = rest.slice(digits.length);
    if (rest === "") break;
    if (!rest.startsWith(":")) throw new ParseFault("unexpected character, want colon", rest);
    if (rest === ":") throw new ParseFault("colon must be followed by more characters", rest);
    rest = rest.slice(1);
    if (!rest.startsWith(":")) continue;
    if (ellipsis >= 0) throw new ParseFault("multiple :: in address", rest);
    ellipsis = bytes.length;
    rest = rest.slice(1);
    if (rest === "") break;
  }
  if (rest !== "") throw new ParseFault("trailing garbage after address", rest);
  return expanded(bytes, ellipsis);
}

function hexDigits(rest: string): string {
  const digits = /^[0-9a-fA-F]*/.exec(rest)?.[0] ?? "";
  if (digits.length > 4) throw new ParseFault("each group must have 4 or less digits", rest);
  if (digits !== "") return digits;
  throw new ParseFault("each colon-separated field must have at least one digit", rest);
}

function embedded(
  text: string,
  { ellipsis, length }: { readonly ellipsis: number; readonly length: number },
): readonly number[] {
  if (ellipsis < 0 && length !== 12) {
    const why = "embedded IPv4 address must replace the final 2 fields of the address";
    throw new ParseFault(why, text);
  }
  if (length + 4 > 16) {
    const why = "too many hex fields to fit an embedded IPv4 at the end of the address";
    throw new ParseFault(why, text);
  }
  return ipv4(text);
}

function expanded(bytes: readonly number[], ellipsis: number): number[] {
  if (bytes.length === 16) {
    if (ellipsis < 0) return [...bytes];
    throw new ParseFault("the :: must expand to at least one field of zeros");
  }
  if (ellipsis < 0) throw new ParseFault("address string too short");
  const zeros = new Array<number>(16 - bytes.length).fill(0);
  return [...bytes.slice(0, ellipsis), ...zeros, ...bytes.slice(ellipsis)];
}
