/** Parses URLs with the rules and error messages of Go's `net/url`. */
import { goQuote } from "#meta";
import { CelFault } from "../../value/values.ts";

export interface UrlParts {
  readonly scheme: string;
  /** Host and port, decoded. */
  readonly host: string;
  /** Escaped. */
  readonly path: string;
  readonly query: string;
  /** The part after the scheme if it is not a path. */
  readonly opaque: string;
}

/** A parse error, to which callers add the parsed text. */
class ParseFault extends Error {
  override readonly name = "Unread";
}

/**
 * `ParseRequestURI`: an absolute URI or an absolute path. The parts are those of `Parse`, which handles
 * fragments. @throws CelFault, such as `parse "a": invalid URI for request`
 */
export function parseRequestUrl(text: string): UrlParts {
  try {
    parse(text, true);
    const hash = text.indexOf("#");
    return parse(hash < 0 ? text : text.slice(0, hash), false);
  } catch (error) {
    if (!(error instanceof ParseFault)) throw error;
    throw new CelFault(`parse ${goQuote(text)}: ${error.message}`);
  }
}

function parse(text: string, isRequest: boolean): UrlParts {
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(text)) throw new ParseFault("net/url: invalid control character in URL");
  if (text === "" && isRequest) throw new ParseFault("empty url");
  const none = { scheme: "", host: "", path: "", query: "", opaque: "" };
  if (text === "*") return { ...none, path: "*" };
  const { scheme, rest: all } = withScheme(text);
  const question = all.indexOf("?");
  const rest = question < 0 ? all : all.slice(0, question);
  const query = question < 0 ? "" : all.slice(question + 1);
  const base = { ...none, scheme: scheme.toLowerCase(), query };
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
  const host = hostOf(authority);
  return { ...base, host, path: pathOf(slash < 0 ? "" : rest.slice(slash)) };
}

function withScheme(text: string): { scheme: string; rest: string } {
  if (text.startsWith(":")) throw new ParseFault("missing protocol scheme");
  const [whole = "", scheme = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [];
  return { scheme, rest: text.slice(whole.length) };
}

/** The authority without the user information, which must be well-formed. */
function hostOf(authority: string): string {
  const at = authority.lastIndexOf("@");
  const host = checkedHost(authority.slice(at + 1));
  if (at < 0) return host;
  const user = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user))
    throw new ParseFault("net/url: invalid userinfo");
  checkEscapes(user);
  return host;
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
  let escaped = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    escaped += /[A-Za-z0-9\-._~$&+,/:;=@]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
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
