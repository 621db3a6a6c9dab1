import { type Clock, TypedFields } from "#base";
import type { VerifyingKey } from "../jwt/signing-keys.ts";
import { webKeys } from "./json-web-keys.ts";

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** URL of the discovery document; "" = default below the issuer. */
  readonly discoveryUrl: string;
  readonly algorithms: readonly string[];
  readonly fetch: (url: string) => Promise<unknown>;
  readonly clock: Clock;
  /** Called with errors of fetching keys. */
  readonly report: (error: unknown) => void;
}

/** Minimum interval of fetches for tokens with unknown keys, which any client can send. */
const minFetchIntervalMs = 2_000;
/** Minimum interval after a failed fetch. */
const minRetryIntervalMs = 10_000;
/** Fields of a discovery document that are decoded by their type, but not used. */
const unusedFields = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint"];
/** TTL of keys, after which withdrawn ones are dropped. */
const ttlMs = 10 * 60_000;

/**
 * Public keys of an issuer, by its discovery document (OpenID Connect Discovery 1.0, section 4). Fetched for
 * the first token, for a token with an unknown key (rotation), and after expiry; if a refresh fails, the
 * previous keys remain in use.
 */
export class IssuerKeys {
  private keys: readonly VerifyingKey[] | undefined;
  private fetchedAt = -Infinity;
  private notBefore = -Infinity;
  private fetching: Promise<void> | undefined;
  private keysUrl: string | undefined;

  constructor(private readonly options: IssuerKeysOptions) {}

  /** Cached keys, fetched if there are none; undefined = the fetch failed. */
  async known(): Promise<readonly VerifyingKey[] | undefined> {
    const isOld = this.options.clock.monotonic() - this.fetchedAt > ttlMs;
    if (this.keys === undefined) await this.fetch();
    // Expired keys are refreshed in the background.
    else if (isOld) void this.fetch();
    return this.keys;
  }

  /** Refreshed keys, for a token that no known key verifies. */
  async refreshed(): Promise<readonly VerifyingKey[]> {
    await this.fetch();
    return this.keys ?? [];
  }

  /** Fetches keys, coalesced and rate-limited. Never rejects. */
  private fetch(): Promise<void> {
    if (this.fetching !== undefined) return this.fetching;
    const { clock, report } = this.options;
    if (clock.monotonic() < this.notBefore) return Promise.resolve();
    this.fetching = this.fetchNow()
      .then(
        (keys) => {
          this.keys = keys;
          this.fetchedAt = clock.monotonic();
          this.notBefore = clock.monotonic() + minFetchIntervalMs;
        },
        (error: unknown) => {
          this.notBefore = clock.monotonic() + minRetryIntervalMs;
          // The issuer may have moved its keys.
          this.keysUrl = undefined;
          report(error);
        },
      )
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  private async fetchNow(): Promise<readonly VerifyingKey[]> {
    this.keysUrl ??= await this.discover();
    return webKeys(await this.options.fetch(this.keysUrl), this.options.algorithms);
  }

  private async discover(): Promise<string> {
    const { issuer, discoveryUrl, fetch } = this.options;
    const below = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const answer = await fetch(discoveryUrl || below);
    const document = TypedFields.of(answer, "oidc.providerJSON", { ignoresCase: true });
    const [ofDocument, url] = [document.text("issuer"), document.text("jwks_uri")];
    for (const name of unusedFields) document.text(name);
    document.texts("id_token_signing_alg_values_supported");
    if (ofDocument !== issuer) {
      throw new Error(`the discovery document of ${issuer} has issuer ${ofDocument}`);
    }
    if (!URL.canParse(url) || new URL(url).protocol !== "https:") {
      throw new Error(`the discovery document of ${issuer} has no https URL in jwks_uri`);
    }
    return url;
  }
}
