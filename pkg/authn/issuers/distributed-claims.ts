import { isJsonObject, type JsonObject } from "#base";
import type { Claims } from "../jwt/jwt.ts";
import { InvalidTokenError } from "../tokens/token-authenticator.ts";

/** Endpoint of a distributed claim. */
interface ClaimSource {
  readonly url: string;
  /** Access token for the endpoint; "" = none. */
  readonly accessToken: string;
}

/**
 * Endpoint of a distributed claim (OpenID Connect Core 1.0, section 5.6.2):
 * `{"_claim_names":{"groups":"s"},"_claim_sources":{"s":{"endpoint":"https://…"}}}`. Undefined = not
 * distributed, or without endpoint.
 * @throws InvalidTokenError
 */
export function sourceOf(claims: Claims, claim: string): ClaimSource | undefined {
  if (Object.hasOwn(claims, claim) || claims["_claim_names"] === undefined) return undefined;
  const names = fieldsOf(claims["_claim_names"]);
  if (names === undefined)
    throw new InvalidTokenError("oidc: error parsing distributed claim names");
  if (claims["_claim_sources"] === undefined) throw new InvalidTokenError("oidc: no claim sources");
  const sources = fieldsOf(claims["_claim_sources"]);
  if (sources === undefined) throw new InvalidTokenError("oidc: could not parse claim sources");
  const name = Object.hasOwn(names, claim) ? names[claim] : undefined;
  if (typeof name !== "string") return undefined;
  const source = Object.hasOwn(sources, name) ? fieldsOf(sources[name]) : undefined;
  if (source === undefined) {
    const detail = `contained a source ${name} missing in _claims_sources`;
    throw new InvalidTokenError(`oidc: id token _claim_names ${detail}`);
  }
  const { endpoint, access_token: accessToken } = source;
  if (typeof endpoint !== "string" || endpoint === "") return undefined;
  return { url: endpoint, accessToken: typeof accessToken === "string" ? accessToken : "" };
}

function fieldsOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}
