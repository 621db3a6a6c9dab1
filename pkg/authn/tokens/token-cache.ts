import { hash, randomBytes } from "node:crypto";
import { type Awaitable, type Clock, setBounded } from "#base";
import type { TokenCacheMetrics } from "./token-cache-metrics.ts";
import type { TokenAuthenticator, TokenIdentity } from "./token-authenticator.ts";

export interface CacheOptions {
  readonly clock: Clock;
  readonly metrics: TokenCacheMetrics;
  /** How long a successful authentication is cached, in milliseconds. */
  readonly goodMs: number;
  /** How long an unknown token is cached, in milliseconds; default 0 = not cached. */
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

/** Entries for known and for unknown tokens each: a flood of invalid tokens evicts no valid ones. */
const capacity = 10_000;

/**
 * Caches token authentications for a short time and coalesces concurrent requests for the same
 * token. Errors are not cached. Keys of the cache are digests of the tokens, keyed with a random
 * secret of this process, so that its memory does not reveal them.
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
    // JSON delimits the list of audiences, so no two pairs of audiences and token collide.
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
