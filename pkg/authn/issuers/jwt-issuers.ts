import type { Clock } from "#base";
import { type Domain, goQuote } from "#meta";
import { type Claims, verifyToken } from "../jwt.ts";
import { issuerOf } from "../service-account-claims.ts";
import { schemes } from "../signing-keys.ts";
import { type TokenAuthenticator, TokenFault, type TokenOwner } from "../token.ts";
import { userOfClaims } from "./claims-user.ts";
import type { JwtIssuerOptions } from "./configuration.ts";
import { fetchJson } from "./fetch-json.ts";
import { IssuerKeys } from "./issuer-keys.ts";

export interface JwtIssuersOptions {
  readonly clock: Clock;
  readonly domain: Domain;
  /** Ends all fetching. */
  readonly signal: AbortSignal;
  /** Told of issuers whose keys cannot be fetched. */
  readonly report: (error: unknown) => void;
}

/** Clocks of issuers may be ahead of ours. */
const notBeforeLeewaySeconds = 300;

/** Tokens that other parties issue: OpenID Connect, and whoever signs JWTs the same way. */
export class JwtIssuers implements TokenAuthenticator {
  private issuers: ReadonlyMap<string, JwtIssuer> = new Map();

  constructor(private readonly options: JwtIssuersOptions) {}

  /** From now on these are the issuers; the keys of those that stay are fetched anew. */
  replace(issuers: readonly JwtIssuerOptions[]): void {
    this.issuers = new Map(
      issuers.map((issuer) => [
        issuer.configuration.issuer.url ?? "",
        new JwtIssuer(issuer, this.options),
      ]),
    );
  }

  async owner(token: string): Promise<TokenOwner | undefined> {
    if (this.issuers.size === 0) return undefined;
    return this.issuers.get(issuerOf(token) ?? "")?.owner(token);
  }
}

class JwtIssuer {
  private readonly keys: IssuerKeys;

  constructor(
    private readonly issuer: JwtIssuerOptions,
    private readonly options: JwtIssuersOptions,
  ) {
    const { url = "", discoveryURL = "", certificateAuthority } = issuer.configuration.issuer;
    const { clock, signal, report } = options;
    this.keys = new IssuerKeys({
      issuer: url,
      discoveryUrl: discoveryURL,
      algorithms: issuer.algorithms ?? Object.keys(schemes),
      fetch: (address) => fetchJson(address, { ca: certificateAuthority || undefined, signal }),
      clock,
      report: (error) => signal.aborted || report(error),
    });
  }

  async owner(token: string): Promise<TokenOwner> {
    const claims = await this.verified(token);
    this.checkTimes(claims);
    this.checkAudience(claims);
    return { user: userOfClaims(claims, this.issuer, this.options.domain) };
  }

  private async verified(token: string): Promise<Claims> {
    const keys = await this.keys.known();
    if (keys === undefined) throw new TokenFault("oidc: authenticator not initialized");
    const claims = verifyToken(token, keys) ?? verifyToken(token, await this.keys.renewed());
    if (claims !== undefined) return claims;
    throw new TokenFault("oidc: verify token: failed to verify id token signature");
  }

  private checkTimes({ exp, nbf }: Claims): void {
    const now = this.options.clock.now() / 1000;
    if (typeof exp !== "number" || now >= exp) {
      throw new TokenFault("oidc: verify token: oidc: token is expired");
    }
    if (nbf === undefined) return;
    if (typeof nbf !== "number" || now + notBeforeLeewaySeconds < nbf) {
      throw new TokenFault("oidc: verify token: oidc: token is not valid yet");
    }
  }

  private checkAudience({ aud }: Claims): void {
    const wanted = this.issuer.configuration.issuer.audiences ?? [];
    const named: readonly unknown[] = Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
    if (wanted.some((audience) => named.includes(audience))) return;
    const quoted = (list: readonly unknown[]) => `[${list.map(String).map(goQuote).join(" ")}]`;
    throw new TokenFault(
      `oidc: verify token: oidc: expected audience in ${quoted([...wanted].sort())} ` +
        `got ${quoted(named)}`,
    );
  }
}
