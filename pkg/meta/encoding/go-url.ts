/** Parses URLs with the rules and error messages of Go's `net/url`. */
import { goQuote } from "./go-quote.ts";

export interface UrlParts {
  readonly scheme: string;
  /** Host and port, decoded. */
  readonly host: string;
  /** Escaped. */
  readonly path: string;
  readonly query: string;
  /** The part after the scheme if it is not a path. */
  readonly opaque: string;
  /** User information before the host, escaped; undefined = none. */
  readonly user: string | undefined;
  /** Escaped. */
  readonly fragment: string;
  /** Whether the text has a question mark. */
  readonly hasQuery: boolean;
}

/** A text that is not a URL; the message is that of Go's `url.Error`. */
export class UrlFault extends Error {
  override readonly name = "UrlFault";
}

/** A parse error, to which the parsed text is added. */
class ParseFault extends Error {
  override readonly name = "ParseFault";
}

/**
 * `ParseRequestURI`: an absolute URI or an absolute path. The parts are those of `Parse`, which handles
 * fragments. @throws UrlFault, such as `parse "a": invalid URI for request`
 */
export function parseRequestUrl(text: string): UrlParts {
  withText(text, () => parse(text, true));
  return parseUrl(text);
}

/**
 * `Parse`: an absolute or relative reference.
 * @throws UrlFault, such as `parse ":a": missing protocol scheme`
 */
export function parseUrl(text: string): UrlParts {
  return withText(text, () => {
    const hash = text.indexOf("#");
    if (hash < 0) return parse(text, false);
    const fragment = text.slice(hash + 1);
    return { ...parse(text.slice(0, hash), false), fragment: escapedFragment(fragment) };
  });
}

function withText<T>(text: string, parsed: () => T): T {
  try {
    return parsed();
  } catch (error) {
    if (!(error instanceof ParseFault)) throw error;
    throw new UrlFault(`parse ${goQuote(text)}: ${error.message}`);
  }
}

/** The text of a URL, as `URL.String`. */
export function formatUrl(url: UrlParts): string {
  const { scheme, opaque, user, host, path, query, fragment, hasQuery } = url;
  const start = scheme === "" ? "" : `${scheme}:`;
  const end = `${hasQuery ? `?${query}` : ""}${fragment === "" ? "" : `#${fragment}`}`;
  if (opaque !== "") return `${start}${opaque}${end}`;
  const hasAuthority = host !== "" || user !== undefined || (scheme !== "" && path !== "");
  const authority = hasAuthority
    ? `//${user === undefined ? "" : `${user}@`}${escapedHost(host)}`
    : "";
  const isRooted = path === "" || path.startsWith("/");
  const slash = !isRooted && host !== "" ? "/" : "";
  const isAmbiguous = start + authority + slash === "" && path.split("/", 1)[0]!.includes(":");
  return `${start}${authority}${slash}${isAmbiguous ? "./" : ""}${path}${end}`;
}

/** The decoded path. */
export function decodedPath({ path }: Pick<UrlParts, "path">): string {
  return decoded(path);
}

function parse(text: string, isRequest: boolean): UrlParts {
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(text)) throw new ParseFault("net/url: invalid control character in URL");
  if (text === "" && isRequest) throw new ParseFault("empty url");
  const none = { scheme: "", host: "", path: "", query: "", opaque: "", user: undefined };
  const empty = { ...none, fragment: "", hasQuery: false };
  if (text === "*") return { ...empty, path: "*" };
  const { scheme, rest: all } = withScheme(text);
  const question = all.indexOf("?");
  const rest = question < 0 ? all : all.slice(0, question);
  const query = question < 0 ? "" : all.slice(question + 1);
  const base = { ...empty, scheme: scheme.toLowerCase(), query, hasQuery: question >= 0 };
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { ...base, opaque: rest };
    if (isRequest) throw new ParseFault("invalid URI for request");
    if (rest.split("/", 1)[0]?.includes(":")) {
      throw new ParseFault("first path segment in URL cannot contain colon");
    }
  }
  const hasAuthority =
    (scheme !== "" || (!isRequest && !rest.startsWith("///"))) && rest.startsWith("//");
  if (!hasAuthority) return { ...base, path: pathOf(rest) };
  const slash = rest.indexOf("/", 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  const { host, user } = authorityOf(authority);
  return { ...base, host, user, path: pathOf(slash < 0 ? "" : rest.slice(slash)) };
}

function withScheme(text: string): { scheme: string; rest: string } {
  if (text.startsWith(":")) throw new ParseFault("missing protocol scheme");
  const [whole = "", scheme = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [];
  return { scheme, rest: text.slice(whole.length) };
}

/** Host and user information, which must be well-formed. */
function authorityOf(authority: string): Pick<UrlParts, "host" | "user"> {
  const at = authority.lastIndexOf("@");
  const host = checkedHost(authority.slice(at + 1));
  if (at < 0) return { host, user: undefined };
  const user = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user))
    throw new ParseFault("net/url: invalid userinfo");
  checkEscapes(user);
  return { host, user };
}

function checkedHost(host: string): string {
  if (!host.startsWith("[")) {
    checkPort(/:[^:]*$/.exec(host)?.[0] ?? "");
    return decodedHost(host, "");
  }
  const close = host.lastIndexOf("]");
  if (close < 0) throw new ParseFault("missing ']' in host");
  checkPort(host.slice(close + 1));
  const zone = host.slice(0, close).indexOf("%25");
  if (zone < 0) return decodedHost(host, "");
  const name = host.slice(zone, close);
  return decodedHost(host.slice(0, zone), "") + decodedZone(name) + host.slice(close);
}

function checkPort(port: string): void {
  if (!/^(?::\d*)?$/.test(port)) throw new ParseFault(`invalid port ${goQuote(port)} after host`);
}

/** Decodes a host, where only non-ASCII bytes may be escaped. */
function decodedHost(text: string, more: string): string {
  checkEscapes(text, (code) => code >= 0x80 || more.includes(String.fromCharCode(code)));
  checkHostCharacters(text);
  return decoded(text);
}

/** Decodes a zone, where `%25` is the percent sign and further characters may be escaped. */
function decodedZone(text: string): string {
  checkEscapes(text, (code) => code === 0x25 || code === 0x20 || isHostByte(code));
  checkHostCharacters(text);
  return decoded(text);
}

function isHostByte(code: number): boolean {
  return code >= 0x80 || /[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]/.test(String.fromCharCode(code));
}

function checkHostCharacters(text: string): void {
  const asciiCharacter = /[ -~]/g;
  for (const [character] of text.matchAll(asciiCharacter)) {
    if (character === "%" || isHostByte(character.charCodeAt(0))) continue;
    throw new ParseFault(`invalid character ${goQuote(character)} in host name`);
  }
}

/** @throws ParseFault for a malformed escape, or the escape of a byte that may not be escaped */
function checkEscapes(text: string, allowed: (code: number) => boolean = () => true): void {
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at + 1)) {
    const escape = text.slice(at, at + 3);
    const isEscape = /^%[0-9A-Fa-f]{2}$/.test(escape);
    if (isEscape && (allowed(Number.parseInt(escape.slice(1), 16)) || escape === "%25")) continue;
    throw new ParseFault(`invalid URL escape ${goQuote(escape)}`);
  }
}

/** `EscapedPath`: the original path if it is a valid encoding. */
function pathOf(path: string): string {
  checkEscapes(path);
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@[\]/%]*$/.test(path)) return path;
  return escapedPath(Buffer.from(decodedBytes(path)));
}

function escapedPath(bytes: Uint8Array): string {
  return escapedBytes(bytes, /[A-Za-z0-9\-._~$&+,/:;=@]/);
}

/** `EscapedFragment`: the original fragment if it is a valid encoding. */
function escapedFragment(fragment: string): string {
  checkEscapes(fragment);
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@[\]/?%]*$/.test(fragment)) return fragment;
  return escapedBytes(decodedBytes(fragment), /[A-Za-z0-9\-._~!$&()*+,/:;=?@]/);
}

function escapedHost(host: string): string {
  return escapedBytes(Buffer.from(host), /[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]/);
}

function escapedBytes(bytes: Uint8Array, plain: RegExp): string {
  let escaped = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    const isPlain = plain.test(character);
    escaped += isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return escaped;
}

function decoded(text: string): string {
  return Buffer.from(decodedBytes(text)).toString("utf8");
}

function decodedBytes(text: string): Uint8Array {
  const parts = text
    .split(/(%[0-9A-Fa-f]{2})/)
    .map((part, index) =>
      Buffer.from(index % 2 === 1 ? part.slice(1) : part, index % 2 === 1 ? "hex" : "utf8"),
    );
  return Buffer.concat(parts);
}
