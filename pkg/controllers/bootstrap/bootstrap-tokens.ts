/** Bootstrap tokens in Secrets of kube-system. */
import type { ControllerContext } from "../controller-context.ts";
import { resolve } from "#meta";
import type { Informer } from "#client";
import { type Secret, secrets } from "#kinds";

/** Namespace of the Secrets. */
export const tokenNamespace = "kube-system";

const namePrefix = "bootstrap-token-";
const idPattern = /^[a-z0-9]{6}$/;
const secretPattern = /^[a-z0-9]{16}$/;

/** A bootstrap token with `usage-bootstrap-signing`. */
export interface SigningToken {
  readonly id: string;
  readonly secret: string;
  /** Milliseconds since 1970; Infinity = never. */
  readonly expires: number;
}

export function tokenSecrets({ client, informers }: ControllerContext): Informer<Secret> {
  const fieldSelector = `type=${resolve("bootstrap.{label}/token", client.domain)}`;
  return informers.of(secrets, { namespace: tokenNamespace, fieldSelector });
}

/** Expiration in milliseconds since 1970; Infinity = never. An invalid time counts as expired. */
export function expiryOf(secret: Secret): number {
  const text = textOf(secret, "expiration");
  if (text === "") return Infinity;
  const time = Date.parse(text);
  return Number.isNaN(time) ? 0 : time;
}

/** Token of a Secret; undefined = not a bootstrap token for signing, or expired. */
export function signingToken(secret: Secret, now: number): SigningToken | undefined {
  const id = textOf(secret, "token-id");
  const key = textOf(secret, "token-secret");
  const expires = expiryOf(secret);
  if (!idPattern.test(id) || !secretPattern.test(key)) return undefined;
  if (secret.metadata.name !== `${namePrefix}${id}` || expires <= now) return undefined;
  if (textOf(secret, "usage-bootstrap-signing") !== "true") return undefined;
  return { id, secret: key, expires };
}

function textOf({ data }: Secret, key: string): string {
  return Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
}
