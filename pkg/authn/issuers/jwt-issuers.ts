import type { Clock } from "#base";
import { type Domain, goQuote } from "#meta";
import { type Claims, verifyToken } from "../jwt/jwt.ts";
import { issuerOf } from "../service-accounts/service-account-claims.ts";
import { schemes } from "../jwt/signing-keys.ts";
import {
  type TokenAuthenticator,
  InvalidTokenError,
  type TokenIdentity,
} from "../tokens/token-authenticator.ts";
import { userOfClaims } from "./claim-mappings.ts";
import type { JwtIssuerOptions } from "./configuration.ts";
import { sourceOf } from "./distributed-claims.ts";
import { fetchJson, fetchText } from "./fetch-json.ts";
import { IssuerKeys } from "./issuer-keys.ts";

export interface JwtAuthenticatorOptions {
  readonly clock: Clock;
  readonly domain: Domain;
  /** Aborts all fetches of keys and claims. */
  readonly signal: AbortSignal;
  /** Called when the keys of an issuer cannot be fetched. */
  readonly report: (error: unknown) => void;
}

/** Leeway of `nbf` for clock skew of issuers. */
const notBeforeLeewaySeconds = 300;

/** Authenticates JWTs of external issuers, such as OpenID Connect providers. */
export class JwtAuthenticator implements TokenAuthenticator {
  private issuers: ReadonlyMap<string, IssuerAuthenticator> = new Map();

  constructor(private readonly options: JwtAuthenticatorOptions) {}

  /** Replaces the issuers; keys are fetched again, also those of issuers that remain. */
  replace(issuers: readonly JwtIssuerOptions[]): void {
    this.issuers = new Map(
      issuers.map((issuer) => [
        issuer.configuration.issuer.url ?? "",
        new IssuerAuthenticator(issuer, this.options),
      ]),
    );
  }

  async authenticateToken(token: string): Promise<TokenIdentity | undefined> {
    if (this.issuers.size === 0) return undefined;
    return this.issuers.get(issuerOf(token) ?? "")?.authenticateToken(token);
  }
}

/** Maximum number of cached key sets of distributed claims' issuers, per issuer. */
const maxOtherIssuers = 10;

class IssuerAuthenticator {
  private readonly url: string;
  /** Keys by issuer: its own, and those of its distributed claims' issuers. */
  private readonly keys = new Map<string, IssuerKeys>();

  constructor(
    private readonly issuer: JwtIssuerOptions,
    private readonly options: JwtAuthenticatorOptions,
  ) {
    const { url = "", discoveryURL = "" } = issuer.configuration.issuer;
    this.url = url;
    this.keys.set(url, this.keysOf(url, discoveryURL));
  }

  async authenticateToken(token: string): Promise<TokenIdentity> {
    const claims = await this.verify(token, this.url);
    const { claim = "" } = this.issuer.configuration.claimMappings.groups;
    const source = claim === "" ? undefined : sourceOf(claims, claim);
    const groups = source && (await this.resolveDistributed(claim, source));
    const all = groups === undefined ? claims : { ...claims, [claim]: groups };
    return { user: userOfClaims(all, this.issuer, this.options.domain) };
  }

  /** Claims of a token after verification of signature, audience and times. */
  private async verify(token: string, issuer: string): Promise<Claims> {
    const claims = await this.verifySignature(token, issuer);
    this.checkTimes(claims);
    this.checkAudience(claims);
    return claims;
  }

  /**
   * Resolves a distributed claim by a token from another endpoint. A signed token may contain any endpoint,
   * but the TLS certificates of the endpoint and of its token's issuer must be signed by the CAs configured
   * for this issuer.
   */
  private async resolveDistributed(
    claim: string,
    source: NonNullable<ReturnType<typeof sourceOf>>,
  ) {
    const { certificateAuthority: ca } = this.issuer.configuration.issuer;
    const { signal } = this.options;
    const options = { ca: ca || undefined, signal, token: source.accessToken };
    const token = await fetchText(source.url, options).catch((error: Error) => {
      throw new InvalidTokenError(
        `oidc: while getting distributed claim "${claim}": ${error.message}`,
      );
    });
    const issuer = issuerOf(token.trim());
    if (issuer === undefined) {
      throw new InvalidTokenError(`oidc: endpoint ${source.url} has no token for claim "${claim}"`);
    }
    const claims = await this.verify(token.trim(), issuer);
    if (Object.hasOwn(claims, claim)) return claims[claim];
    const detail = `did not contain claim: ${claim}`;
    throw new InvalidTokenError(
      `oidc: jwt returned by distributed claim endpoint "${source.url}" ${detail}`,
    );
  }

  private keysOf(issuer: string, discoveryUrl = ""): IssuerKeys {
    const { certificateAuthority } = this.issuer.configuration.issuer;
    const { clock, signal, report } = this.options;
    return new IssuerKeys({
      issuer,
      discoveryUrl,
      algorithms: this.issuer.algorithms ?? Object.keys(schemes),
      fetch: (address) => fetchJson(address, { ca: certificateAuthority || undefined, signal }),
      clock,
      report: (error) => signal.aborted || report(error),
    });
  }

  /** Claims of a token after verification of its signature by the keys of `issuer`. */
  private async verifySignature(token: string, issuer: string): Promise<Claims> {
    const issuerKeys = this.keys.get(issuer) ?? this.keysOf(issuer);
    const others = [...this.keys.keys()].filter((each) => each !== this.url);
    if (!this.keys.has(issuer) && others.length >= maxOtherIssuers) this.keys.delete(others[0]!);
    this.keys.set(issuer, issuerKeys);
    const keys = await issuerKeys.known();
    if (keys === undefined) throw new InvalidTokenError("oidc: authenticator not initialized");
    const claims = verifyToken(token, keys) ?? verifyToken(token, await issuerKeys.refreshed());
    if (claims !== undefined) return claims;
    throw new InvalidTokenError("oidc: verify token: failed to verify id token signature");
  }

  private checkTimes({ exp, nbf }: Claims): void {
    const now = this.options.clock.now() / 1000;
    if (typeof exp !== "number" || now >= exp) {
      throw new InvalidTokenError("oidc: verify token: oidc: token is expired");
    }
    if (nbf === undefined) return;
    if (typeof nbf !== "number" || now + notBeforeLeewaySeconds < nbf) {
      throw new InvalidTokenError("oidc: verify token: oidc: token is not valid yet");
    }
  }

  private checkAudience({ aud }: Claims): void {
    const wanted = this.issuer.configuration.issuer.audiences ?? [];
    const audiences: readonly unknown[] = Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
    if (wanted.some((audience) => audiences.includes(audience))) return;
    const quoted = (list: readonly unknown[]) => `[${list.map(String).map(goQuote).join(" ")}]`;
    throw new InvalidTokenError(
      `oidc: verify token: oidc: expected audience in ${quoted([...wanted].sort())} ` +
        `got ${quoted(audiences)}`,
    );
  }
}
