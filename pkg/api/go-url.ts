/** Parses URLs with the rules and error messages of Go's net/url. */
import { goQuote } from "#meta";

export interface GoUrl {
  /** Scheme in lower case; "" = none. */
  readonly scheme: string;
  /** User info as written; undefined = no `@`. */
  readonly user: string | undefined;
  readonly host: string;
  readonly path: string;
  /** Query without the question mark. */
  readonly query: string;
  readonly fragment: string;
}

interface UrlFault {
  readonly fault: string;
}

export function parseGoUrl(text: string): GoUrl | UrlFault {
  const problem = faultOf(text);
  if (problem !== undefined) return { fault: `parse ${goQuote(text)}: ${problem}` };
  return split(text);
}

function split(text: string): GoUrl {
  const [beforeFragment = "", ...fragment] = text.split("#");
  const [beforeQuery = "", ...query] = beforeFragment.split("?");
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(beforeQuery)?.[1];
  const rest = scheme === undefined ? beforeQuery : beforeQuery.slice(scheme.length + 1);
  const authority = /^\/\/([^/]*)/.exec(rest)?.[1] ?? "";
  const atSign = authority.lastIndexOf("@");
  return {
    scheme: (scheme ?? "").toLowerCase(),
    user: atSign < 0 ? undefined : authority.slice(0, atSign),
    host: authority.slice(atSign + 1),
    path: rest.startsWith("//") ? rest.slice(2 + authority.length) : rest,
    query: query.join("?"),
    fragment: fragment.join("#"),
  };
}

function faultOf(text: string): string | undefined {
  // eslint-disable-next-line no-control-regex -- these are what Go refuses
  if (/[\u0000-\u001f\u007f]/.test(text)) return "net/url: invalid control character in URL";
  if (text.startsWith(":")) return "missing protocol scheme";
  const { scheme, user, host, path } = split(text);
  if (scheme === "" && path.split("/")[0]?.includes(":")) {
    return "first path segment in URL cannot contain colon";
  }
  if (user !== undefined && !/^[\w\-.:~!$&'()*+,;=%@]*$/.test(user)) {
    return "net/url: invalid userinfo";
  }
  return hostFault(host) ?? escapeFault(path);
}

function hostFault(host: string): string | undefined {
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    if (end < 0) return "missing ']' in host";
    return portFault(host.slice(end + 1));
  }
  const colon = host.lastIndexOf(":");
  const port = colon < 0 ? undefined : portFault(host.slice(colon));
  if (port !== undefined) return port;
  const escape = /%(?![0-9a-fA-F]{2})[\s\S]{0,2}/.exec(host)?.[0];
  if (escape !== undefined) return `invalid URL escape ${goQuote(escape)}`;
  const wrong = /[ "#%/<>?@[\\\]^`{|}]/.exec(host)?.[0];
  return wrong === undefined ? undefined : `invalid character ${goQuote(wrong)} in host name`;
}

function portFault(text: string): string | undefined {
  return text === "" || /^:\d*$/.test(text)
    ? undefined
    : `invalid port ${goQuote(text)} after host`;
}

function escapeFault(path: string): string | undefined {
  const escape = /%(?![0-9a-fA-F]{2})[\s\S]{0,2}/.exec(path)?.[0];
  return escape === undefined ? undefined : `invalid URL escape ${goQuote(escape)}`;
}
