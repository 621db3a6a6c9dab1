import { formatIp, parseIp } from "#base";
import { contentOf, contextTagOf, type Der, DerFault, membersOf, sequenceOf } from "../der.ts";
import { type AlternativeNames, nameTag } from "./alternative-names.ts";

/** Names that an authority may or may not certify, by the type of name. */
interface Subtrees {
  readonly emails: readonly string[];
  readonly dns: readonly string[];
  readonly uris: readonly string[];
  /** Address and mask, together 8 or 32 bytes. */
  readonly addresses: readonly Buffer[];
}

export interface NameConstraints {
  readonly permitted: Subtrees;
  readonly excluded: Subtrees;
  /** Whether there are constraints on names of other types, such as directory names. */
  readonly hasUnsupported: boolean;
}

/** Parses the NameConstraints extension. @throws DerFault */
export function parseNameConstraints(value: Der): NameConstraints {
  const lists = sequenceOf(value);
  const baseNames = (tag: number) =>
    lists
      .filter((list) => contextTagOf(list) === tag)
      .flatMap(membersOf)
      .map((subtree) => sequenceOf(subtree)[0] ?? Buffer.alloc(0));
  const [permitted, excluded] = [baseNames(0), baseNames(1)];
  if (permitted.length + excluded.length === 0) throw new DerFault("empty name constraints");
  const supported = new Set<number | undefined>(Object.values(nameTag));
  const hasUnsupported = [...permitted, ...excluded].some(
    (name) => !supported.has(contextTagOf(name)),
  );
  return { permitted: subtreesOf(permitted), excluded: subtreesOf(excluded), hasUnsupported };
}

function subtreesOf(names: readonly Der[]): Subtrees {
  const contents = (tag: number) =>
    names.filter((name) => contextTagOf(name) === tag).map(contentOf);
  const texts = (tag: number) => contents(tag).map((bytes) => bytes.toString("latin1"));
  const addresses = contents(nameTag.address);
  if (addresses.some(({ length }) => length !== 8 && length !== 32)) {
    throw new DerFault("IP constraint of a wrong length");
  }
  return {
    emails: texts(nameTag.email),
    dns: texts(nameTag.dns),
    uris: texts(nameTag.uri),
    addresses,
  };
}

/**
 * Why the constraints do not allow the names, in the words of crypto/x509; undefined = they do. A name that
 * cannot be compared is not allowed.
 */
export function constraintViolation(
  { permitted, excluded }: NameConstraints,
  names: AlternativeNames,
): string | undefined {
  return (
    violation("email address", names.emails, {
      permitted: permitted.emails,
      excluded: excluded.emails,
      matches: matchesEmail,
      print: String,
    }) ??
    violation("DNS name", names.dns, {
      permitted: permitted.dns,
      excluded: excluded.dns,
      matches: matchesDomain,
      print: String,
    }) ??
    violation("URI", names.uris, {
      permitted: permitted.uris,
      excluded: excluded.uris,
      matches: matchesUri,
      print: String,
    }) ??
    violation("IP address", names.addresses, {
      permitted: permitted.addresses,
      excluded: excluded.addresses,
      matches: matchesAddress,
      print: printAddress,
    })
  );
}

interface Constraints<T> {
  readonly permitted: readonly T[];
  readonly excluded: readonly T[];
  /** Undefined = the name cannot be compared. */
  readonly matches: (name: T, constraint: T) => boolean | undefined;
  readonly print: (value: T) => string;
}

function violation<T>(type: string, names: readonly T[], rules: Constraints<T>) {
  const { permitted, excluded, matches, print } = rules;
  const quoted = (value: T) => JSON.stringify(print(value));
  for (const name of names) {
    const excluding = excluded.find((constraint) => matches(name, constraint) !== false);
    if (excluding !== undefined) {
      return `${type} ${quoted(name)} is excluded by constraint ${quoted(excluding)}`;
    }
    if (permitted.length === 0) continue;
    if (!permitted.some((constraint) => matches(name, constraint) === true)) {
      return `${type} ${quoted(name)} is not permitted by any constraint`;
    }
  }
  return undefined;
}

function matchesDomain(name: string, constraint: string): boolean | undefined {
  if (constraint === "") return true;
  const labels = labelsOf(name);
  const needsSubdomain = constraint.startsWith(".");
  const wanted = labelsOf(needsSubdomain ? constraint.slice(1) : constraint);
  if (labels === undefined || wanted === undefined) return undefined;
  if (labels.length < wanted.length + (needsSubdomain ? 1 : 0)) return false;
  return wanted.every((label, index) => label === labels[index]);
}

/** Labels in lower case from the last one; undefined for an invalid domain. */
function labelsOf(domain: string): readonly string[] | undefined {
  const labels = domain.toLowerCase().split(".").toReversed();
  return labels.every((label) => /^[!-~]+$/.test(label)) ? labels : undefined;
}

function matchesEmail(name: string, constraint: string): boolean | undefined {
  const at = name.lastIndexOf("@");
  if (at <= 0) return undefined;
  const domain = name.slice(at + 1);
  if (!constraint.includes("@")) return matchesDomain(domain, constraint);
  const end = constraint.lastIndexOf("@");
  const isSameBox = name.slice(0, at) === constraint.slice(0, end);
  return isSameBox && domain.toLowerCase() === constraint.slice(end + 1).toLowerCase();
}

function matchesUri(uri: string, constraint: string): boolean | undefined {
  const authority = /^[^:/?#]+:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^:/?#]*)/.exec(uri)?.[1] ?? "";
  if (authority === "" || authority.startsWith("[") || parseIp(authority) !== undefined) {
    return undefined;
  }
  return matchesDomain(authority, constraint);
}

function matchesAddress(address: Buffer, constraint: Buffer): boolean {
  if (constraint.length !== 2 * address.length) return false;
  const mask = constraint.subarray(address.length);
  return address.every((byte, at) => (byte & mask[at]!) === (constraint[at]! & mask[at]!));
}

/** An address, or a constraint in CIDR notation. */
function printAddress(value: Buffer): string {
  if (value.length === 4 || value.length === 16) return formatIp([...value]);
  const half = value.length / 2 === 4 ? 4 : 16;
  if (value.length !== 8 && value.length !== 32) return value.toString("hex");
  const bits = [...value.subarray(half)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const length = bits.indexOf("0") < 0 ? bits.length : bits.indexOf("0");
  return `${formatIp([...value.subarray(0, half)])}/${length}`;
}
