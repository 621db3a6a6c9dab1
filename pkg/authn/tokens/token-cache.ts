import { hash, randomBytes } from "node:crypto";
import { type Awaitable, type Clock, setBounded } from "#base";
import type { TokenCacheMetrics } from "./token-cache-metrics.ts";
import type { TokenAuthenticator, TokenIdentity } from "./token-authenticator.ts";

export interface CacheOptions {
  readonly clock: Clock;
  readonly metrics: TokenCacheMetrics;
  /** Cache TTL of authenticated tokens in ms. */
  readonly goodMs: number;
  /** Cache TTL of unknown tokens in ms; default 0 = not cached. */
  readonly badMs?: number;
}

/** A token authenticator that may need a remote call. */
interface RemoteTokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined>;
}

interface Answer {
  readonly owner: TokenIdentity | undefined;
  readonly until: number;
}

/** Maximum entries, separately for known and unknown tokens, so that invalid tokens evict no valid ones. */
const capacity = 10_000;

/**
 * Caches token authentications for a short time and coalesces concurrent requests with the same token. Does
 * not cache errors. Cache keys are digests keyed with a random secret of the process, so that memory does
 * not reveal tokens.
 */
export class TokenCache implements TokenAuthenticator {
  private readonly good = new Map<string, Answer>();
  private readonly bad = new Map<string, Answer>();
  private readonly asked = new Map<string, Promise<TokenIdentity | undefined>>();
  private readonly key = randomBytes(32).toString("base64");

  constructor(
    private readonly inner: RemoteTokenAuthenticator,
    private readonly options: CacheOptions,
  ) {}

  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Awaitable<TokenIdentity | undefined> {
    const { clock, metrics } = this.options;
    const begun = clock.monotonic();
    // JSON delimits the audiences, so that pairs of audiences and token are unambiguous.
    const digest = hash("sha256", `${this.key}${JSON.stringify(audiences)}${token}`, "base64");
    const known = this.good.get(digest) ?? this.bad.get(digest);
    if (known !== undefined && known.until > begun) {
      metrics.answered("hit", clock.monotonic() - begun);
      return known.owner;
    }
    let question = this.asked.get(digest);
    if (question === undefined) {
      question = this.ask(digest, token, audiences).finally(() => this.asked.delete(digest));
      this.asked.set(digest, question);
    }
    return metrics
      .waited(question)
      .finally(() => metrics.answered("miss", clock.monotonic() - begun));
  }

  private async ask(
    digest: string,
    token: string,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    this.good.delete(digest);
    this.bad.delete(digest);
    const { clock, metrics, goodMs, badMs = 0 } = this.options;
    const asked = clock.monotonic();
    const owner = await metrics.fetched(this.inner.authenticateToken(token, audiences));
    const [answers, milliseconds] = owner === undefined ? [this.bad, badMs] : [this.good, goodMs];
    const answer = { owner, until: asked + milliseconds };
    if (milliseconds > 0) setBounded(answers, [digest, answer], capacity);
    return owner;
  }
}
