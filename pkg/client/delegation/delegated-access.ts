import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { type Clock, setBounded, printJson } from "#base";
import { resolve } from "#meta";
import type { ApiObject, Client, Handle } from "../contract.ts";

/** User fields of reviews. */
export interface Identity {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Attributes of a SubjectAccessReview. */
export type AccessAttributes =
  | { readonly resourceAttributes: object }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } };

interface TokenReview extends ApiObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: Partial<Omit<Identity, "user">> & { readonly username?: string };
  };
}

interface AccessReview extends ApiObject {
  readonly spec: Identity & AccessAttributes;
  readonly status?: { readonly allowed?: boolean };
}

interface CacheEntry<T> {
  readonly value: T;
  /** Monotonic time of expiry, in ms. */
  readonly until: number;
}

/** Default time to live of cached reviews in ms, that of Kubernetes' components. */
const defaultCacheTtlMs = 10_000;
const maxCached = 1_000;

export interface DelegatedAccessOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Time to live of cached reviews in ms; default 10 s. */
  readonly cacheTtlMs?: number;
}

/**
 * Delegated authentication and authorization: client certificates verified by the TLS socket,
 * TokenReviews for bearer tokens, and SubjectAccessReviews.
 */
export class DelegatedAccess {
  private readonly identities = new Map<string, CacheEntry<Identity | undefined>>();
  private readonly decisions = new Map<string, CacheEntry<boolean>>();

  constructor(private readonly options: DelegatedAccessOptions) {}

  /** The authenticated user; undefined without a valid client certificate or bearer token. */
  async identityOf({ headers, socket }: IncomingMessage): Promise<Identity | undefined> {
    const certified = certifiedIdentity(socket as TLSSocket);
    if (certified !== undefined) return certified;
    const [, token] = /^Bearer (\S+)$/i.exec(headers.authorization ?? "") ?? [];
    if (token === undefined) return undefined;
    return this.cached(this.identities, token, () => this.reviewToken(token));
  }

  isAllowed(identity: Identity, attributes: AccessAttributes): Promise<boolean> {
    const spec = { ...identity, ...attributes };
    return this.cached(this.decisions, printJson(spec), async () => {
      const reviews = this.reviews<AccessReview>("authorization", "SubjectAccessReview");
      const { status } = await this.options.client.create(reviews, { metadata: {}, spec });
      return status?.allowed === true;
    });
  }

  /** HTTP status code of the decision: 200, 401 or 403. */
  async statusCodeFor(request: IncomingMessage, attributes: AccessAttributes): Promise<number> {
    const identity = await this.identityOf(request);
    if (identity === undefined) return 401;
    return (await this.isAllowed(identity, attributes)) ? 200 : 403;
  }

  private async reviewToken(token: string): Promise<Identity | undefined> {
    const reviews = this.reviews<TokenReview>("authentication", "TokenReview");
    const review = await this.options.client.create(reviews, { metadata: {}, spec: { token } });
    const { authenticated, user } = review.status ?? {};
    if (authenticated !== true || user?.username === undefined) return undefined;
    const { username, groups = [], ...rest } = user;
    return { ...rest, user: username, groups };
  }

  private async cached<T>(
    all: Map<string, CacheEntry<T>>,
    key: string,
    ask: () => Promise<T>,
  ): Promise<T> {
    const { clock, cacheTtlMs = defaultCacheTtlMs } = this.options;
    const known = all.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return known.value;
    const value = await ask();
    setBounded(all, [key, { value, until: clock.monotonic() + cacheTtlMs }], maxCached);
    return value;
  }

  private reviews<T extends ApiObject>(group: string, kind: string): Handle<T> {
    const full = resolve(`${group}.{api}`, this.options.client.domain);
    const plural = `${kind.toLowerCase()}s`;
    return { group: full, version: "v1", plural, kind, namespaced: false };
  }
}

function certifiedIdentity(socket: TLSSocket): Identity | undefined {
  if (!socket.authorized) return undefined;
  // @types/node declares a string, but multiple values of an attribute are an array.
  const { CN, O = [] } = socket.getPeerCertificate().subject as unknown as {
    readonly CN?: string | readonly string[];
    readonly O?: string | readonly string[];
  };
  const [user] = [CN].flat();
  return user === undefined ? undefined : { user, groups: [O, "system:authenticated"].flat() };
}
