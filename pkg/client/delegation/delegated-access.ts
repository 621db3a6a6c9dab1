import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { type Clock, setBounded } from "#base";
import { resolve } from "#meta";
import type { ApiObject, Client, Handle } from "../contract.ts";

/** A user as reviews name one. */
export interface Identity {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a SubjectAccessReview asks about. */
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

interface Remembered<T> {
  readonly value: T;
  /** On the monotonic clock. */
  readonly until: number;
}

/** Time for which the reviews of Kubernetes' own programs are remembered. */
const usualMs = 10_000;
const mostRemembered = 1_000;

export interface DelegatedAccessOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Time in ms for which a review is remembered; default 10 s. */
  readonly freshMs?: number;
}

/**
 * Authentication and authorization that a server delegates to the API server: client certificates that
 * its TLS socket verified, TokenReviews for bearer tokens, and SubjectAccessReviews.
 */
export class DelegatedAccess {
  private readonly identities = new Map<string, Remembered<Identity | undefined>>();
  private readonly decisions = new Map<string, Remembered<boolean>>();

  constructor(private readonly options: DelegatedAccessOptions) {}

  /** The client of the request; undefined = it gave neither a valid certificate nor a valid token. */
  async identityOf({ headers, socket }: IncomingMessage): Promise<Identity | undefined> {
    const certified = certifiedIdentity(socket as TLSSocket);
    if (certified !== undefined) return certified;
    const [, token] = /^Bearer (\S+)$/i.exec(headers.authorization ?? "") ?? [];
    if (token === undefined) return undefined;
    return this.remembered(this.identities, token, () => this.reviewToken(token));
  }

  isAllowed(identity: Identity, attributes: AccessAttributes): Promise<boolean> {
    const spec = { ...identity, ...attributes };
    return this.remembered(this.decisions, JSON.stringify(spec), async () => {
      const reviews = this.reviews<AccessReview>("authorization", "SubjectAccessReview");
      const { status } = await this.options.client.create(reviews, { metadata: {}, spec });
      return status?.allowed === true;
    });
  }

  /** 200, 401 or 403. */
  async codeFor(request: IncomingMessage, attributes: AccessAttributes): Promise<number> {
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

  private async remembered<T>(
    all: Map<string, Remembered<T>>,
    key: string,
    ask: () => Promise<T>,
  ): Promise<T> {
    const { clock, freshMs = usualMs } = this.options;
    const known = all.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return known.value;
    const value = await ask();
    setBounded(all, [key, { value, until: clock.monotonic() + freshMs }], mostRemembered);
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
  // Declared as one string; a certificate with several organizations has an array.
  const { CN, O = [] } = socket.getPeerCertificate().subject as unknown as {
    readonly CN?: string | readonly string[];
    readonly O?: string | readonly string[];
  };
  const [user] = [CN].flat();
  return user === undefined ? undefined : { user, groups: [O, "system:authenticated"].flat() };
}
