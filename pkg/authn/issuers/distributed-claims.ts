import { JsonTypeFault, TypedFields } from "#base";
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
  const root = TypedFields.of(claims, "claims");
  const names = parsed("error parsing distributed claim names", () => root.textMap("_claim_names"));
  if (claims["_claim_sources"] === undefined) throw new InvalidTokenError("oidc: no claim sources");
  const sources = parsed("could not parse claim sources", () => endpointsIn(root));
  const name = names.get(claim);
  if (name === undefined) return undefined;
  const source = sources.get(name);
  if (source === undefined) {
    const detail = `contained a source ${name} missing in _claims_sources`;
    throw new InvalidTokenError(`oidc: id token _claim_names ${detail}`);
  }
  return source.url === "" ? undefined : source;
}

function endpointsIn(claims: TypedFields): ReadonlyMap<string, ClaimSource> {
  const sources = claims.object("_claim_sources");
  return new Map(
    sources.keys().map((name) => {
      const source = sources.object(name);
      source.text("JWT");
      return [name, { url: source.text("endpoint"), accessToken: source.text("access_token") }];
    }),
  );
}

/** @throws InvalidTokenError with the type that does not match */
function parsed<T>(failure: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof JsonTypeFault)) throw error;
    throw new InvalidTokenError(`oidc: ${failure}: ${error.message}`);
  }
}
