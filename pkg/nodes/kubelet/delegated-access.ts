import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Clock } from "#base";
import { setBounded } from "#base";
import type { ApiObject, Client, Handle } from "#client";
import { resolve } from "#meta";

interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}

interface TokenReview extends ApiObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
  };
}

interface AccessReview extends ApiObject {
  readonly spec: Identity & { readonly resourceAttributes: object };
  readonly status?: { readonly allowed?: boolean };
}

/** Time for which a decision is cached, as a kubelet's webhook authorizer caches denials. */
const freshMs = 30_000;
const mostDecisions = 1_000;

/**
 * Authentication and authorization of a kubelet: client certificates of the cluster's CA or bearer
 * tokens, then a SubjectAccessReview for a subresource of the node.
 */
export class DelegatedAccess {
  private readonly decisions = new Map<string, { readonly code: number; readonly until: number }>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
  ) {}

  /** 200, 401 or 403. */
  async codeFor(request: IncomingMessage, node: string): Promise<number> {
    const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
    const certified = certifiedIdentity(request.socket as TLSSocket);
    const verb = request.method === "GET" || request.method === "HEAD" ? "get" : "create";
    const subresource = subresourceOf(request.url ?? "");
    const key = JSON.stringify([node, verb, subresource, certified, token]);
    const known = this.decisions.get(key);
    if (known !== undefined && known.until > this.clock.monotonic()) return known.code;
    const identity = certified ?? (token === undefined ? undefined : await this.ofToken(token));
    const code = await this.decide(identity, { verb, subresource, name: node });
    const until = this.clock.monotonic() + freshMs;
    setBounded(this.decisions, [key, { code, until }], mostDecisions);
    return code;
  }

  private async decide(identity: Identity | undefined, asked: object): Promise<number> {
    if (identity === undefined) return 401;
    const reviews = this.reviews<AccessReview>("authorization", "SubjectAccessReview");
    const resourceAttributes = { version: "v1", resource: "nodes", ...asked };
    const spec = { ...identity, resourceAttributes };
    const review = await this.client.create(reviews, { metadata: {}, spec });
    return review.status?.allowed === true ? 200 : 403;
  }

  private async ofToken(token: string): Promise<Identity | undefined> {
    const reviews = this.reviews<TokenReview>("authentication", "TokenReview");
    const review = await this.client.create(reviews, { metadata: {}, spec: { token } });
    const { authenticated, user } = review.status ?? {};
    if (authenticated !== true || user?.username === undefined) return undefined;
    return { user: user.username, groups: user.groups ?? [] };
  }

  private reviews<T extends ApiObject>(group: string, kind: string): Handle<T> {
    const full = resolve(`${group}.{api}`, this.client.domain);
    const plural = `${kind.toLowerCase()}s`;
    return { group: full, version: "v1", plural, kind, namespaced: false };
  }
}

/** The subresource of the node that a path stands for. */
function subresourceOf(url: string): string {
  const [, first = ""] = url.split(/[/?]/);
  return first === "stats" || first === "metrics" ? first : "proxy";
}

function certifiedIdentity(socket: TLSSocket): Identity | undefined {
  if (!socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const organizations = subject.O as string | readonly string[] | undefined;
  const groups = [organizations ?? []].flat();
  const user = [subject.CN].flat()[0];
  return user === undefined ? undefined : { user, groups: [...groups, "system:authenticated"] };
}
