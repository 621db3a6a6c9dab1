/** The key that signs service account tokens. */
import { generateSmallSigningKey } from "#authn";
import { assert } from "#base";
import { ensureSigningKey } from "../credentials/credentials.ts";
import type { StartOptions } from "../options.ts";
import { type ServiceAccountOptions, serviceAccountKeys } from "./service-accounts.ts";

export interface WithSigningKey {
  /** With a signing key, which a fork takes over: it must accept the tokens of the original. */
  readonly serviceAccounts: ServiceAccountOptions;
  /** Resolves when the key can be used. */
  readonly read: Promise<void>;
}

/**
 * Adds a signing key to the options unless they have one. An RSA key, which every verifier supports, takes
 * as long to generate as a server takes to be assembled, so it is generated meanwhile. A server without a
 * port and files, whose tokens seldom leave the process, generates an EC key at its first use.
 */
export function withSigningKey({
  certificateDirectory,
  port,
  serviceAccounts = {},
}: StartOptions): WithSigningKey {
  if (serviceAccounts.signingKey !== undefined) {
    return { serviceAccounts, read: Promise.resolve() };
  }
  if (certificateDirectory === undefined && port === undefined) {
    const completed = { ...serviceAccounts, signingKey: generateSmallSigningKey };
    return { serviceAccounts: completed, read: Promise.resolve() };
  }
  let text: string | undefined;
  const signingKey = () => {
    assert(text !== undefined, "a request is served after the key was read");
    return text;
  };
  const completed = { ...serviceAccounts, signingKey };
  const algorithm = port === undefined ? "ES256" : "RS256";
  const read = ensureSigningKey(certificateDirectory, algorithm).then((known) => {
    text = known;
    // Reports a file that holds no key before the server is ready.
    return void serviceAccountKeys(completed).signingKey();
  });
  // The start awaits it later, and does not come to that if it fails before.
  read.catch(() => undefined);
  return { serviceAccounts: completed, read };
}
