/** Controllers as service accounts of their own. */
import type { Clock } from "#base";
import type { ApiObject, Client, Handle } from "#client";
import { ignoreConflict, resolve } from "#meta";

const namespace = "kube-system";
const lifeSeconds = 3600;
/** A token is renewed after so much of its life. */
const renewAfter = 0.8;
const retryMs = 10_000;

const names = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
} as const;
const accounts: Handle = names;
const tokens: Handle<TokenRequest> = names;

interface TokenRequest extends ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly audiences: readonly string[]; readonly expirationSeconds: number };
  readonly status?: { readonly token: string };
}

export interface AccountOptions {
  /** May make service accounts and tokens. */
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/**
 * Answers what gives the current token of a service account, which is made if it is not there; the
 * token is renewed until the signal aborts.
 */
export async function serviceAccountToken(
  options: AccountOptions,
  name: string,
): Promise<() => string> {
  const { client, clock, signal, report } = options;
  let token = await requestToken(client, name);
  const renew = async () => {
    let delayMs = lifeSeconds * 1000 * renewAfter;
    while (!signal.aborted) {
      await clock.sleep(delayMs, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        token = await requestToken(client, name);
        delayMs = lifeSeconds * 1000 * renewAfter;
      } catch (error) {
        report(`token of ${name}`, error);
        delayMs = retryMs;
      }
    }
  };
  void renew();
  return () => token;
}

async function requestToken(client: Client, name: string): Promise<string> {
  await client.create(accounts, { metadata: { namespace, name } }).catch(ignoreConflict);
  const apiVersion = resolve("authentication.{api}/v1", client.domain);
  const spec = { audiences: [], expirationSeconds: lifeSeconds };
  const draft = { apiVersion, kind: "TokenRequest", metadata: { namespace, name }, spec };
  const made = await client.create(tokens, draft, { subresource: "token" });
  return made.status?.token ?? "";
}
