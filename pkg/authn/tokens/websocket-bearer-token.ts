import { type Domain, resolve } from "#meta";
import type { Credentials } from "#request";
import { unauthorized } from "../unauthorized.ts";

/**
 * Bearer token among the offered WebSocket subprotocols, the only header that browsers can set:
 * `Sec-WebSocket-Protocol: base64url.bearer.authorization.<domain>.<token>, <protocol>`.
 * @throws StatusError 401 for several tokens, a malformed one, or one without another subprotocol
 */
export function webSocketToken({ headersBelow }: Credentials, domain: Domain): string | undefined {
  const offered = headersBelow(header).get(header);
  if (offered === undefined || !asksForWebSocket(headersBelow)) return undefined;
  const prefix = prefixOf(domain);
  const protocols = offered.flatMap((line) => line.split(",")).map((each) => each.trim());
  const tokens = protocols.filter((each) => each.startsWith(prefix));
  if (tokens.length === 0) return undefined;
  const token = decoded(tokens[0]!.slice(prefix.length));
  if (tokens.length > 1 || token === undefined) throw unauthorized();
  if (token === "") return undefined;
  if (tokens.length === protocols.length) throw unauthorized();
  return token;
}

/** Subprotocols without the token, for proxied requests. */
export function withoutBearerProtocol(protocols: string, domain: Domain): string {
  const offered = protocols.split(",").map((each) => each.trim());
  return offered.filter((each) => !each.startsWith(prefixOf(domain))).join(", ");
}

const header = "sec-websocket-protocol";

function prefixOf(domain: Domain): string {
  return resolve("base64url.bearer.authorization.{api}.", domain);
}

function asksForWebSocket(headersBelow: Credentials["headersBelow"]): boolean {
  const says = (name: string, word: string) =>
    (headersBelow(name).get(name) ?? []).some((line) =>
      line.split(",").some((each) => each.trim().toLowerCase() === word),
    );
  return says("upgrade", "websocket") && says("connection", "upgrade");
}

/** Decodes unpadded base64url to UTF-8; undefined = invalid. */
function decoded(text: string): string | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) return undefined;
  const token = bytes.toString("utf8");
  return Buffer.from(token, "utf8").equals(bytes) ? token : undefined;
}
