/** Kubernetes' URL library. */
import { parseRequestUrl, UrlFault, type UrlParts } from "#meta";
import { define, type Library, overload } from "../../check/declare.ts";
import { CelFault, HashMap, ArrayList, Opaque, type Value } from "../../value/values.ts";

const urlType = "kubernetes.URL";

type Url = Opaque<UrlParts>;

/** Throws CelFault. */
function parse(text: string): Url {
  try {
    return new Opaque(urlType, parseRequestUrl(text), text);
  } catch (error) {
    if (!(error instanceof UrlFault)) throw error;
    throw new CelFault(`URL parse error during conversion from string: ${error.message}`);
  }
}

function hostname(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host)?.[1];
  return bracketed ?? host.replace(/:\d*$/, "");
}

function port(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? "";
}

/** Query parameters with all their values; malformed pairs are ignored. */
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
  return HashMap.of([...values].map(([name, all]) => [name, new ArrayList(all)]));
}

function decoded(text: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  const bytes: Buffer[] = [];
  for (const part of text.replaceAll("+", " ").split(/(%[0-9A-Fa-f]{2})/)) {
    bytes.push(part.startsWith("%") ? Buffer.from(part.slice(1), "hex") : Buffer.from(part));
  }
  return Buffer.concat(bytes).toString("utf8");
}

/** The errors of a text that is not a URL. */
export function urlFaults(text: string): readonly string[] {
  try {
    parseRequestUrl(text);
    return [];
  } catch (error) {
    if (error instanceof UrlFault) return [error.message];
    throw error;
  }
}

export const urlLibrary: Library = {
  functions: [
    define("url", overload("string_to_url", `(string) -> ${urlType}`, parse)),
    define(
      "isURL",
      overload("is_url_string", "(string) -> bool", (text: string) => urlFaults(text).length === 0),
    ),
    ...(
      [
        ["getScheme", ({ scheme }) => scheme],
        ["getHost", ({ host }) => host],
        ["getHostname", ({ host }) => hostname(host)],
        ["getPort", ({ host }) => port(host)],
        ["getEscapedPath", ({ path }) => path],
      ] satisfies [string, (parts: UrlParts) => string][] as [string, (parts: UrlParts) => string][]
    ).map(([name, part]) =>
      define(
        name,
        overload(`url_${name}`, `${urlType}.() -> string`, ({ content }: Url) => part(content)),
      ),
    ),
    define(
      "getQuery",
      overload("url_get_query", `${urlType}.() -> map(string, list(string))`, ({ content }: Url) =>
        queryOf(content.query),
      ),
    ),
  ],
};
