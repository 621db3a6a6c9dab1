import type { Clock } from "#base";
import type { VerifyingKey } from "../jwt/signing-keys.ts";
import { webKeys } from "./json-web-keys.ts";

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** Where the discovery document is; "" = below the issuer. */
  readonly discoveryUrl: string;
  readonly algorithms: readonly string[];
  readonly fetch: (url: string) => Promise<unknown>;
  readonly clock: Clock;
  /** Told why keys could not be fetched. */
  readonly report: (error: unknown) => void;
}

/** Between two fetches for tokens that no known key verifies: anybody can make such tokens. */
const betweenFetchesMs = 2_000;
/** After a fetch that failed. */
const betweenFailuresMs = 10_000;
/** Keys that an issuer has withdrawn are forgotten after so long. */
const freshMs = 10 * 60_000;

/**
 * The public keys of an issuer, found through its discovery document (OpenID Connect Discovery 1.0,
 * section 4). They are fetched for the first token, again when a token names an unknown key (after
 * a rotation), and when they have expired; if a refresh fails, the previous keys stay in use.
 */
export class IssuerKeys {
  private keys: readonly VerifyingKey[] | undefined;
  private fetchedAt = -Infinity;
  private notBefore = -Infinity;
  private fetching: Promise<void> | undefined;
  private keysUrl: string | undefined;

  constructor(private readonly options: IssuerKeysOptions) {}

  /** Undefined = none are known yet. */
  async known(): Promise<readonly VerifyingKey[] | undefined> {
    const isOld = this.options.clock.monotonic() - this.fetchedAt > freshMs;
    if (this.keys === undefined) await this.fetch();
    // Expired keys are refreshed in the background.
    else if (isOld) void this.fetch();
    return this.keys;
  }

  /** The keys of this moment, for a token that none of those known verified. */
  async renewed(): Promise<readonly VerifyingKey[]> {
    await this.fetch();
    return this.keys ?? [];
  }

  /** Fetches are coalesced and have a minimum interval. Never rejects. */
  private fetch(): Promise<void> {
    if (this.fetching !== undefined) return this.fetching;
    const { clock, report } = this.options;
    if (clock.monotonic() < this.notBefore) return Promise.resolve();
    this.fetching = this.fetchNow()
      .then(
        (keys) => {
          this.keys = keys;
          this.fetchedAt = clock.monotonic();
          this.notBefore = clock.monotonic() + betweenFetchesMs;
        },
        (error: unknown) => {
          this.notBefore = clock.monotonic() + betweenFailuresMs;
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
    const document = (await fetch(discoveryUrl || below)) ?? {};
    const { issuer: named, jwks_uri: url } = document as Readonly<Record<string, unknown>>;
    if (named !== issuer) {
      throw new Error(`the discovery document of ${issuer} is that of ${String(named)}`);
    }
    if (typeof url !== "string" || !URL.canParse(url) || new URL(url).protocol !== "https:") {
      throw new Error(`the discovery document of ${issuer} names no https address of its keys`);
    }
    return url;
  }
}
