import type { Clock } from "#base";
import { type Domain, goQuote, resolve } from "#meta";
import { verifyToken } from "../jwt/jwt.ts";
import {
  type AccountClaims,
  issuerOf,
  legacyIssuer,
  type NamedObject,
  readClaims,
  readLegacyClaims,
} from "./service-account-claims.ts";
import { constantTimeEqual } from "../tokens/constant-time-equal.ts";
import type { VerifyingKey } from "../jwt/signing-keys.ts";
import type { LabelSecret, ObjectName, ReadObject } from "../stored-objects.ts";
import {
  type TokenAuthenticator,
  InvalidTokenError,
  type TokenIdentity,
} from "../tokens/token-authenticator.ts";

export interface ServiceAccountTokenOptions {
  readonly issuers: readonly string[];
  /** Called for each token: the server can start before its signing key is generated. */
  readonly verifyingKeys: () => readonly VerifyingKey[];
  readonly read: ReadObject;
  /** Sets a label of a Secret in the background; reports errors itself. */
  readonly labelSecret: LabelSecret;
  readonly clock: Clock;
  readonly domain: Domain;
}

/** Time for which tokens bound to an object in deletion remain valid (source: Kubernetes). */
const deletionLeewayMs = 60_000;

/**
 * Service account token authenticator. A token is valid if its signature, issuer, audience and times are, and
 * while its ServiceAccount and bound object exist with the same uid.
 */
export class ServiceAccountTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly options: ServiceAccountTokenOptions) {}

  async authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    const issuer = issuerOf(token);
    if (issuer === undefined) return undefined;
    if (issuer === legacyIssuer) return this.authenticateLegacy(token);
    if (!this.options.issuers.includes(issuer)) return undefined;
    return this.authenticateBound(token, audiences);
  }

  /** A token of TokenRequest, bound to audiences, a time and perhaps an object. */
  private async authenticateBound(
    token: string,
    requested: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    const { verifyingKeys, domain } = this.options;
    const verified = verifyToken(token, verifyingKeys());
    const claims = verified && readClaims(verified, domain.label);
    if (claims === undefined) return undefined;
    const audiences = requested.filter((audience) => claims.audiences.includes(audience));
    if (audiences.length === 0) {
      throw new InvalidTokenError(
        `token audiences ${quoted(claims.audiences)} is invalid ` +
          `for the target audiences ${quoted(requested)}`,
      );
    }
    this.checkTimes(claims);
    await this.checkAccount(claims.namespace, claims.account);
    await this.checkBound(claims);
    return { user: this.userOf(claims), audiences };
  }

  private checkTimes({ expires, notBefore }: AccountClaims): void {
    const now = this.options.clock.now() / 1000;
    if (now >= expires) throw new InvalidTokenError("service account token has expired");
    if (now < notBefore) throw new InvalidTokenError("service account token is not valid yet");
  }

  private async checkAccount(namespace: string, account: NamedObject): Promise<void> {
    const { name } = account;
    const object = await this.options.read({ plural: "serviceaccounts", namespace, name });
    if (object === undefined)
      throw new InvalidTokenError(`serviceaccounts ${goQuote(name)} not found`);
    this.checkNotDeleted(object);
    const { uid } = object.metadata;
    if (uid === account.uid) return;
    throw new InvalidTokenError(
      `service account UID (${uid}) does not match claim (${account.uid})`,
    );
  }

  private async checkBound({ namespace, pod, secret, node }: AccountClaims): Promise<void> {
    if (secret !== undefined) {
      const boundTo = { plural: "secrets", namespace, name: secret.name } as const;
      await this.checkUid(boundTo, secret, "secret");
    }
    if (pod !== undefined) {
      const boundTo = { plural: "pods", namespace, name: pod.name } as const;
      await this.checkUid(boundTo, pod, "pod");
    }
    // For a pod-bound token the node is informational; only a node-bound token requires it to exist.
    if (node !== undefined && pod === undefined) {
      await this.checkUid({ plural: "nodes", namespace: "", name: node.name }, node, "node");
    }
  }

  /** The bound object must exist with the uid of the claim. */
  private async checkUid(boundTo: ObjectName, claim: NamedObject, what: string): Promise<void> {
    const object = await this.options.read(boundTo);
    if (object === undefined) throw invalidated();
    this.checkNotDeleted(object);
    const { uid } = object.metadata;
    if (uid === claim.uid) return;
    throw new InvalidTokenError(
      `${what} UID (${uid}) does not match service account ${what} ref claim (${claim.uid})`,
    );
  }

  /** An object counts as deleted one minute after its deletionTimestamp. */
  private checkNotDeleted({ metadata }: any): void {
    const { deletionTimestamp } = metadata;
    if (!deletionTimestamp) return;
    const end = Date.parse(deletionTimestamp) + deletionLeewayMs;
    if (end < this.options.clock.now()) throw invalidated();
  }

  /** A legacy token is valid while its Secret exists and contains it. */
  private async authenticateLegacy(token: string): Promise<TokenIdentity | undefined> {
    const { verifyingKeys, domain, read } = this.options;
    const verified = verifyToken(token, verifyingKeys());
    const claims = verified && readLegacyClaims(verified, domain.label);
    if (claims === undefined) return undefined;
    const { namespace, account, secretName } = claims;
    const secret = await read({ plural: "secrets", namespace, name: secretName });
    const stored = Buffer.from(secret?.data?.token ?? "", "base64").toString("utf8");
    if (!constantTimeEqual(stored, token) || secret.metadata.deletionTimestamp) throw invalidated();
    await this.checkAccount(namespace, account);
    this.labelLastUse(secret);
    this.checkInvalidSince(secret, account);
    const user = accountUser(namespace, account, new Map());
    const key = resolve("authentication.{api}/legacy-token", domain);
    return { user: { ...user, remarks: new Map([[key, user.name]]) } };
  }

  /** Labels the Secret with the day of last use, for the legacy token cleaner. */
  private labelLastUse({ metadata }: any): void {
    const { clock, domain, labelSecret } = this.options;
    const key = resolve("{label}/legacy-token-last-used", domain);
    const today = new Date(clock.now()).toISOString().slice(0, "2006-01-02".length);
    if (metadata.labels?.[key] !== today) labelSecret(metadata, { key, value: today });
  }

  /** Rejects a token whose Secret the legacy token cleaner has marked invalid. */
  private checkInvalidSince({ metadata }: any, account: NamedObject): void {
    const { namespace, name, labels } = metadata;
    const key = resolve("{label}/legacy-token-invalid-since", this.options.domain);
    if (!labels?.[key]) return;
    throw new InvalidTokenError(
      `the token in secret ${namespace}/${name} for service account ` +
        `${namespace}/${account.name} has been marked invalid. Use tokens from the TokenRequest ` +
        `API or manually created secret-based tokens, or remove the '${key}' label from the ` +
        "secret to temporarily allow use of this token",
    );
  }

  private userOf(claims: AccountClaims): TokenIdentity["user"] {
    const { namespace, account, id, pod, node, staleAfter = Infinity } = claims;
    const extra = new Map<string, readonly string[]>();
    const addExtra = (key: string, value: string | undefined) => {
      const name = resolve(`authentication.{label}/${key}`, this.options.domain);
      if (value) extra.set(name, [value]);
    };
    addExtra("credential-id", id && `JTI=${id}`);
    addExtra("node-name", node?.name);
    addExtra("node-uid", node?.uid);
    addExtra("pod-name", pod?.name);
    addExtra("pod-uid", pod?.uid);
    const user = accountUser(namespace, account, extra);
    const secondsLate = Math.floor(this.options.clock.now() / 1000 - staleAfter);
    if (secondsLate <= 0) return user;
    const key = resolve("authentication.{api}/stale-token", this.options.domain);
    const message = `subject: ${user.name}, seconds after warning threshold: ${secondsLate}`;
    return { ...user, remarks: new Map([[key, message]]) };
  }
}

function accountUser(
  namespace: string,
  { name, uid }: NamedObject,
  extra: ReadonlyMap<string, readonly string[]>,
): TokenIdentity["user"] {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return { name: `system:serviceaccount:${namespace}:${name}`, uid, groups, extra };
}

function invalidated(): InvalidTokenError {
  return new InvalidTokenError("service account token has been invalidated");
}

function quoted(words: readonly string[]): string {
  return `[${words.map(goQuote).join(" ")}]`;
}
