import { createHash } from "node:crypto";
import type { Clock } from "#base";
import { type Domain, goQuote, resolve } from "#meta";
import { verifyToken } from "./jwt.ts";
import {
  type AccountClaims,
  issuerOf,
  legacyIssuer,
  type NamedObject,
  readClaims,
  readLegacyClaims,
} from "./service-account-claims.ts";
import type { VerifyingKey } from "./signing-keys.ts";
import type { ObjectName, ReadObject } from "./stored-objects.ts";
import { type TokenAuthenticator, TokenFault, type TokenOwner } from "./token.ts";

export interface ServiceAccountTokenOptions {
  readonly issuers: readonly string[];
  readonly keys: readonly VerifyingKey[];
  readonly read: ReadObject;
  readonly clock: Clock;
  readonly domain: Domain;
}

/** How long a good token is believed without a look at what it depends on. */
const freshMilliseconds = 500;
const capacity = 10_000;
/** Objects on their way out count for so long. */
const leewayMilliseconds = 60_000;

interface Believed {
  readonly owner: TokenOwner;
  readonly until: number;
}

/**
 * Tokens of service accounts. A token is good while its signature, issuer, audience and times are,
 * and while the account and the object that it is bound to are the ones that it was made for.
 */
export class ServiceAccountTokens implements TokenAuthenticator {
  private readonly believed = new Map<string, Believed>();

  constructor(private readonly options: ServiceAccountTokenOptions) {}

  async owner(token: string, audiences: readonly string[]): Promise<TokenOwner | undefined> {
    const now = this.options.clock.now();
    const key = createHash("sha256").update(`${audiences.join(" ")} ${token}`).digest("base64");
    const known = this.believed.get(key);
    if (known !== undefined && known.until > now) return known.owner;
    const issuer = issuerOf(token);
    if (issuer === undefined) return undefined;
    const isLegacy = issuer === legacyIssuer;
    if (!isLegacy && !this.options.issuers.includes(issuer)) return undefined;
    const owner = isLegacy ? await this.legacy(token) : await this.bound(token, audiences);
    if (owner === undefined) return undefined;
    if (this.believed.size >= capacity) this.believed.clear();
    this.believed.set(key, { owner, until: now + freshMilliseconds });
    return owner;
  }

  private async bound(
    token: string,
    wanted: readonly string[],
  ): Promise<TokenOwner | undefined> {
    const { keys, domain } = this.options;
    const verified = verifyToken(token, keys);
    const claims = verified && readClaims(verified, domain.label);
    if (claims === undefined) return undefined;
    const audiences = wanted.filter((audience) => claims.audiences.includes(audience));
    if (audiences.length === 0) {
      throw new TokenFault(
        `token audiences ${quoted(claims.audiences)} is invalid ` +
          `for the target audiences ${quoted(wanted)}`,
      );
    }
    this.checkTimes(claims);
    await this.checkAccount(claims.namespace, claims.account);
    await this.checkBound(claims);
    return { user: this.userOf(claims), audiences };
  }

  private checkTimes({ expires, notBefore }: AccountClaims): void {
    const now = this.options.clock.now() / 1000;
    if (now >= expires) throw new TokenFault("service account token has expired");
    if (now < notBefore) throw new TokenFault("service account token is not valid yet");
  }

  private async checkAccount(namespace: string, account: NamedObject): Promise<void> {
    const { name } = account;
    const object = await this.options.read({ plural: "serviceaccounts", namespace, name });
    if (object === undefined) throw new TokenFault(`serviceaccounts ${goQuote(name)} not found`);
    this.checkStays(object);
    const { uid } = object.metadata;
    if (uid === account.uid) return;
    throw new TokenFault(`service account UID (${uid}) does not match claim (${account.uid})`);
  }

  private async checkBound({ namespace, pod, secret, node }: AccountClaims): Promise<void> {
    if (secret !== undefined) {
      const place = { plural: "secrets", namespace, name: secret.name } as const;
      await this.checkSame(place, secret, "secret");
    }
    if (pod !== undefined) {
      const place = { plural: "pods", namespace, name: pod.name } as const;
      await this.checkSame(place, pod, "pod");
    }
    // The node of a pod is told for information; only a token bound to the node ends with it.
    if (node !== undefined && pod === undefined) {
      await this.checkSame({ plural: "nodes", namespace: "", name: node.name }, node, "node");
    }
  }

  private async checkSame(place: ObjectName, wanted: NamedObject, what: string): Promise<void> {
    const object = await this.options.read(place);
    if (object === undefined) throw invalidated();
    this.checkStays(object);
    const { uid } = object.metadata;
    if (uid === wanted.uid) return;
    throw new TokenFault(
      `${what} UID (${uid}) does not match service account ${what} ref claim (${wanted.uid})`,
    );
  }

  private checkStays({ metadata }: any): void {
    const { deletionTimestamp } = metadata;
    if (!deletionTimestamp) return;
    const end = Date.parse(deletionTimestamp) + leewayMilliseconds;
    if (end < this.options.clock.now()) throw invalidated();
  }

  /** A token that lies in a Secret is good while it lies there. */
  private async legacy(token: string): Promise<TokenOwner | undefined> {
    const { keys, domain, read } = this.options;
    const verified = verifyToken(token, keys);
    const claims = verified && readLegacyClaims(verified, domain.label);
    if (claims === undefined) return undefined;
    const { namespace, account, secretName } = claims;
    const secret = await read({ plural: "secrets", namespace, name: secretName });
    const stored: string | undefined = secret?.data?.token;
    const holds = stored !== undefined && Buffer.from(stored, "base64").toString() === token;
    if (!holds || secret.metadata.deletionTimestamp) throw invalidated();
    await this.checkAccount(namespace, account);
    return { user: accountUser(namespace, account, new Map()) };
  }

  private userOf({ namespace, account, id, pod, node }: AccountClaims): TokenOwner["user"] {
    const extra = new Map<string, readonly string[]>();
    const tell = (key: string, value: string | undefined) => {
      const name = resolve(`authentication.{label}/${key}`, this.options.domain);
      if (value) extra.set(name, [value]);
    };
    tell("credential-id", id && `JTI=${id}`);
    tell("node-name", node?.name);
    tell("node-uid", node?.uid);
    tell("pod-name", pod?.name);
    tell("pod-uid", pod?.uid);
    return accountUser(namespace, account, extra);
  }
}

function accountUser(
  namespace: string,
  { name, uid }: NamedObject,
  extra: ReadonlyMap<string, readonly string[]>,
): TokenOwner["user"] {
  const own = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const groups = [...own, "system:authenticated"];
  return { name: `system:serviceaccount:${namespace}:${name}`, uid, groups, extra };
}

function invalidated(): TokenFault {
  return new TokenFault("service account token has been invalidated");
}

function quoted(words: readonly string[]): string {
  return `[${words.map(goQuote).join(" ")}]`;
}
