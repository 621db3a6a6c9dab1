/** Who may come in and what they may do, as start options say it. */
import { clientCertificate, TokenFile, Union } from "#authn";
import { alwaysAllow, alwaysDeny, firstOpinion, masters, publicReads } from "#authz";
import type { Authenticator, Authorizer } from "#request";
import type { StartOptions } from "./options.ts";

export const authorizationModes = { AlwaysAllow: alwaysAllow, AlwaysDeny: alwaysDeny } as const;

export type AuthorizationMode = keyof typeof authorizationModes;

/** Client certificates, the generated admin token, and the token file. */
export function authenticatorOf(options: StartOptions, adminToken: string): Authenticator {
  const admin = new TokenFile(`${adminToken},admin,admin,"system:masters"`);
  const listed = options.tokens === undefined ? [] : [new TokenFile(options.tokens)];
  return new Union({
    authenticators: [clientCertificate, admin, ...listed],
    anonymous: options.anonymous ?? true,
  });
}

export function authorizerOf({ authorization = [] }: StartOptions): Authorizer {
  const modes = authorization.map((mode) => authorizationModes[mode]);
  return firstOpinion([masters, ...(modes.length > 0 ? modes : [publicReads])]);
}
