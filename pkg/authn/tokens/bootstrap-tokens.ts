import type { Clock } from "#base";
import { type Domain, resolve } from "#meta";
import { constantTimeEqual } from "./constant-time-equal.ts";
import type { ReadObject } from "../stored-objects.ts";
import type { TokenAuthenticator, TokenIdentity } from "./token-authenticator.ts";

export interface BootstrapTokenOptions {
  readonly read: ReadObject;
  readonly clock: Clock;
  readonly domain: Domain;
}

const shape = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupShape = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Bootstrap token authenticator: tokens of joining nodes, stored in Secrets of kube-system. */
export class BootstrapTokenAuthenticator implements TokenAuthenticator {
  constructor(private readonly options: BootstrapTokenOptions) {}

  async authenticateToken(token: string): Promise<TokenIdentity | undefined> {
    const [, id, secret] = shape.exec(token) ?? [];
    if (id === undefined || secret === undefined) return undefined;
    const { read, domain } = this.options;
    const name = `bootstrap-token-${id}`;
    const object = await read({ plural: "secrets", namespace: "kube-system", name });
    if (object === undefined || object.metadata.deletionTimestamp) return undefined;
    if (object.type !== resolve("bootstrap.{label}/token", domain)) return undefined;
    const data = (key: string) => textOf(object.data, key);
    if (!constantTimeEqual(data("token-secret"), secret) || data("token-id") !== id)
      return undefined;
    if (this.isExpired(data("expiration"))) return undefined;
    if (data("usage-bootstrap-authentication") !== "true") return undefined;
    const groups = groupsOf(data("auth-extra-groups"));
    if (groups === undefined) return undefined;
    return {
      user: {
        name: `system:bootstrap:${id}`,
        uid: "",
        groups,
        extra: new Map(),
      },
    };
  }

  /** Whether a token has expired; an invalid time counts as expired. */
  private isExpired(expiration: string): boolean {
    if (expiration === "") return false;
    const end = rfc3339.test(expiration) ? Date.parse(expiration) : Number.NaN;
    return !(end > this.options.clock.now());
  }
}

/** Sorted groups; undefined = an extra group is not allowed. */
function groupsOf(extra: string): readonly string[] | undefined {
  const named = extra === "" ? [] : extra.split(",");
  if (!named.every((group) => groupShape.test(group))) return undefined;
  return [...new Set(["system:bootstrappers", ...named])].sort();
}

function textOf(data: Readonly<Record<string, string>> | undefined, key: string): string {
  if (data === undefined || !Object.hasOwn(data, key)) return "";
  return Buffer.from(data[key]!, "base64").toString("utf8");
}
