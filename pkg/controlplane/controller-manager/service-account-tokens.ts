/** Tokens for controllers that authenticate as their own ServiceAccounts. */
import type { Clock } from "#base";
import { type ApiObject, type Client, ConnectionError, type Handle } from "#client";
import { ignoreConflict, resolve } from "#meta";

const namespace = "kube-system";
const lifeSeconds = 3600;
/** Fraction of its lifetime after which a token is renewed. */
const renewAfter = 0.8;
const retryMs = 10_000;
/** Attempts to get the first token while connections fail, and the pause between them in ms. */
const maxAttempts = 5;
const reconnectMs = 1_000;

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
  /** Client that may create ServiceAccounts and their tokens. */
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/**
 * Creates the ServiceAccount `name` in kube-system if it is missing, and resolves with a function
 * that returns its current token. The token is renewed until the signal aborts.
 */
export async function serviceAccountToken(
  options: AccountOptions,
  name: string,
): Promise<() => string> {
  const { client, clock, signal, report } = options;
  let token = await firstToken(options, name);
  const renew = async () => {
    let delayMs = lifeSeconds * 1000 * renewAfter;
    while (!signal.aborted) {
      await clock.sleep(delayMs, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        token = await requestToken(client, name);
        delayMs = lifeSeconds * 1000 * renewAfter;
      } catch (error) {
        report(`Failed to renew the token of service account ${namespace}/${name}`, error);
        delayMs = retryMs;
      }
    }
  };
  void renew();
  return () => token;
}

async function firstToken(options: AccountOptions, name: string): Promise<string> {
  const { client, clock, signal, report } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await requestToken(client, name);
    } catch (error) {
      if (!(error instanceof ConnectionError) || attempt === maxAttempts) throw error;
      report(`Failed to request a token of service account ${namespace}/${name}`, error);
      await clock.sleep(reconnectMs, signal);
    }
  }
}

async function requestToken(client: Client, name: string): Promise<string> {
  await client.create(accounts, { metadata: { namespace, name } }).catch(ignoreConflict);
  const apiVersion = resolve("authentication.{api}/v1", client.domain);
  const spec = { audiences: [], expirationSeconds: lifeSeconds };
  const draft = { apiVersion, kind: "TokenRequest", metadata: { namespace, name }, spec };
  const made = await client.create(tokens, draft, { subresource: "token" });
  return made.status?.token ?? "";
}
