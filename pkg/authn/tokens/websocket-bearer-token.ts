import { type Domain, resolve } from "#meta";
import type { Credentials } from "#request";
import { unauthorized } from "../unauthorized.ts";

/**
 * The token among the subprotocols that a client offers. Browsers can set no header but this one:
 * `Sec-WebSocket-Protocol: base64url.bearer.authorization.<domain>.<token>, <what is spoken>`.
 * @throws StatusError 401 for several tokens, a malformed one, and one without another subprotocol,
 * which the server would have to choose
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

/** The subprotocols without the token, for those to whom a request is passed on. */
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

/** Undefined for what is not base64url without padding, or not UTF-8 below it. */
function decoded(text: string): string | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") !== text) return undefined;
  const token = bytes.toString("utf8");
  return Buffer.from(token, "utf8").equals(bytes) ? token : undefined;
}
