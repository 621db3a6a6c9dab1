import { hash, randomBytes } from "node:crypto";
import { type Awaitable, type Clock, setBounded, SharedCalls } from "#base";
import type { TokenCacheMetrics } from "./token-cache-metrics.ts";
import type { TokenAuthenticator, TokenCaller, TokenIdentity } from "./token-authenticator.ts";

export interface CacheOptions {
  readonly clock: Clock;
  readonly metrics: TokenCacheMetrics;
  /** Cache TTL of authenticated tokens in ms. */
  readonly successTtlMs: number;
  /** Cache TTL of unknown tokens in ms; default 0 = not cached. */
  readonly failureTtlMs?: number;
}

/** A token authenticator that may call a remote server. */
interface RemoteTokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[],
    caller: { readonly signal: AbortSignal },
  ): Promise<TokenIdentity | undefined>;
}

interface CachedResult {
  /** Undefined = unknown token. */
  readonly identity: TokenIdentity | undefined;
  /** Expiry by the monotonic clock in ms. */
  readonly until: number;
}

/** Maximum entries, separately for known and unknown tokens, so that invalid tokens evict no valid ones. */
const capacity = 10_000;

/**
 * Caches token authentications for a short time and coalesces concurrent requests with the same token. An
 * authentication is aborted when all requests that wait for it have been. Does not cache errors. Cache keys
 * are digests keyed with a random secret of the process, so that memory does not reveal tokens.
 */
export class TokenCache implements TokenAuthenticator {
  private readonly successes = new Map<string, CachedResult>();
  private readonly failures = new Map<string, CachedResult>();
  /** Authentications in flight, by digest. */
  private readonly pending = new SharedCalls<TokenIdentity | undefined>();
  /** Secret of the process that keys the digests. */
  private readonly secret = randomBytes(32).toString("base64");

  constructor(
    private readonly inner: RemoteTokenAuthenticator,
    private readonly options: CacheOptions,
  ) {}

  authenticateToken(
    token: string,
    audiences: readonly string[],
    caller: TokenCaller,
  ): Awaitable<TokenIdentity | undefined> {
    const { clock, metrics } = this.options;
    const start = clock.monotonic();
    // JSON delimits the audiences, so that pairs of audiences and token are unambiguous.
    const digest = hash("sha256", `${this.secret}${JSON.stringify(audiences)}${token}`, "base64");
    const cached = this.successes.get(digest) ?? this.failures.get(digest);
    if (cached !== undefined && cached.until > start) {
      metrics.recordRequest("hit", clock.monotonic() - start);
      return cached.identity;
    }
    const call = this.pending.join(digest, caller.signal, (signal) => {
      this.successes.delete(digest);
      this.failures.delete(digest);
      return this.fetch(digest, () => this.inner.authenticateToken(token, audiences, { signal }));
    });
    return metrics
      .whileBlocked(call)
      .finally(() => metrics.recordRequest("miss", clock.monotonic() - start));
  }

  /** Authenticates the token, and caches the result unless it is an error. */
  private async fetch(
    digest: string,
    authenticate: () => Promise<TokenIdentity | undefined>,
  ): Promise<TokenIdentity | undefined> {
    const { clock, metrics, successTtlMs, failureTtlMs = 0 } = this.options;
    const start = clock.monotonic();
    const identity = await metrics.whileFetching(authenticate());
    const isUnknown = identity === undefined;
    const ttlMs = isUnknown ? failureTtlMs : successTtlMs;
    const results = isUnknown ? this.failures : this.successes;
    if (ttlMs > 0) setBounded(results, [digest, { identity, until: start + ttlMs }], capacity);
    return identity;
  }
}
