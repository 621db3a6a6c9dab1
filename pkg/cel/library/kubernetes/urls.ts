/** URLs: absolute ones, and absolute paths. */
import { define, type Library, overload, readType } from "../../check/declare.ts";
import { CelFault, Entries, Items, Opaque, type Value } from "../../value/values.ts";

const TYPE = "kubernetes.URL";

interface Parts {
  readonly scheme: string;
  /** With the port. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

type Url = Opaque<Parts>;

/** Throws CelFault. A `#` is no fragment: such texts are requests, which have none. */
function parse(text: string): Url {
  const fault = (why: string): CelFault =>
    new CelFault(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: ${why}`,
    );
  if (text === "") throw fault("empty url");
  if (/[\0-\x20\x7f]/.test(text.replaceAll(" ", "")) || /^[^?]* /.test(text)) {
    throw fault("net/url: invalid control character in URL");
  }
  const matched = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s.exec(
    text,
  );
  const [, scheme = "", authority, path = "", query = ""] = matched ?? [];
  if (scheme === "" && !text.startsWith("/")) throw fault("invalid URI for request");
  if (scheme !== "" && authority === undefined && !path.startsWith("/")) {
    throw fault("invalid URI for request");
  }
  const host = (scheme === "" ? "" : (authority ?? "")).replace(/^.*@/s, "");
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) throw fault("invalid URL escape");
  if (!validHost(host)) throw fault(`invalid character in host name or port`);
  const fullPath = scheme === "" && authority !== undefined ? `//${authority}${path}` : path;
  const parts = { scheme: scheme.toLowerCase(), host, path: escapedPath(fullPath), query };
  return new Opaque(TYPE, parts, text);
}

function validHost(host: string): boolean {
  if (host.startsWith("[")) return /^\[[^\]]*\](?::\d*)?$/.test(host);
  return /^[^:[\]<>"\s]*(?::\d*)?$/.test(host);
}

function hostname(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host)?.[1];
  return bracketed ?? host.replace(/:\d*$/, "");
}

function port(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? "";
}

/** What a path may not hold as it is becomes escapes. */
function escapedPath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

/** Names with all their values; pairs that are no pairs are left out. */
function queryOf(text: string): Value {
  const values = new Map<string, string[]>();
  for (const pair of text.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const [name = "", ...rest] = pair.split("=");
    const key = decoded(name);
    const value = decoded(rest.join("="));
    if (key === undefined || value === undefined) continue;
    const present = values.get(key);
    if (present === undefined) values.set(key, [value]);
    else present.push(value);
  }
  return Entries.of([...values].map(([name, all]) => [name, new Items(all)]));
}

function decoded(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes: Buffer[] = [];
  for (const part of text.replaceAll("+", " ").split(/(%[0-9A-Fa-f]{2})/)) {
    bytes.push(part.startsWith("%") ? Buffer.from(part.slice(1), "hex") : Buffer.from(part));
  }
  return Buffer.concat(bytes).toString("utf8");
}

/** Whether `url` takes the text. */
export function isUrl(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof CelFault) return false;
    throw error;
  }
}

export const urlLibrary: Library = {
  types: [readType(TYPE)],
  functions: [
    define("url", overload("string_to_url", `(string) -> ${TYPE}`, parse)),
    define("isURL", overload("is_url_string", "(string) -> bool", isUrl)),
    ...(
      [
        ["getScheme", ({ scheme }) => scheme],
        ["getHost", ({ host }) => host],
        ["getHostname", ({ host }) => hostname(host)],
        ["getPort", ({ host }) => port(host)],
        ["getEscapedPath", ({ path }) => path],
      ] satisfies [string, (parts: Parts) => string][] as [string, (parts: Parts) => string][]
    ).map(([name, part]) =>
      define(
        name,
        overload(`url_${name}`, `${TYPE}.() -> string`, ({ content }: Url) => part(content)),
      ),
    ),
    define(
      "getQuery",
      overload("url_get_query", `${TYPE}.() -> map(string, list(string))`, ({ content }: Url) =>
        queryOf(content.query),
      ),
    ),
  ],
};
