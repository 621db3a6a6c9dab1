/** Who may come in and what they may do, as start options say it. */
import { accessDefaults } from "#api";
import { clientCertificate, selfReview, TokenFile, Union } from "#authn";
import {
  type AccessKind,
  accessReviews,
  alwaysAllow,
  alwaysDeny,
  escalationCheck,
  firstOpinion,
  masters,
  Rbac,
} from "#authz";
import { type Domain, resolve } from "#meta";
import type { Admit, Answerer } from "#registry";
import type { Authenticator, Authorizer } from "#request";
import type { StartOptions } from "./options.ts";

export const authorizationModes = ["RBAC", "AlwaysAllow", "AlwaysDeny"] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

/** Everything about access that the parts of a server share. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly rbac: Rbac;
  readonly mutating: readonly Admit[];
  readonly answerers: ReadonlyMap<string, Answerer>;
}

export interface AccessOptions {
  readonly options: StartOptions;
  readonly adminToken: string;
  readonly domain: Domain;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
}

export function accessOf({ options, adminToken, domain, gates }: AccessOptions): Access {
  const rbac = rbacWithDefaults(domain, gates);
  const authorizer = authorizerOf(options, rbac);
  return {
    authenticator: authenticatorOf(options, adminToken),
    authorizer,
    rbac,
    mutating: [escalationCheck({ rbac, authorizer, domain })],
    answerers: new Map([
      ...accessReviews(authorizer, domain),
      ["/selfsubjectreviews/", selfReview],
    ]),
  };
}

/** The defaults are in force before they are stored, and before the store has been read. */
function rbacWithDefaults(domain: Domain, gate: (name: string) => boolean): Rbac {
  const rbac = new Rbac(resolve("rbac.authorization.{api}", domain));
  for (const { kind, object } of accessDefaults({ domain, gate })) {
    rbac.set(kind.kind as AccessKind, object);
  }
  return rbac;
}

/** Client certificates, the generated admin token, and the token file. */
function authenticatorOf(options: StartOptions, adminToken: string): Authenticator {
  const admin = new TokenFile(`${adminToken},admin,admin,"system:masters"`);
  const listed = options.tokens === undefined ? [] : [new TokenFile(options.tokens)];
  return new Union({
    authenticators: [clientCertificate, admin, ...listed],
    anonymous: options.anonymous ?? true,
  });
}

function authorizerOf({ authorization = [] }: StartOptions, rbac: Rbac): Authorizer {
  const known: Readonly<Record<AuthorizationMode, Authorizer>> = {
    RBAC: rbac,
    AlwaysAllow: alwaysAllow,
    AlwaysDeny: alwaysDeny,
  };
  const modes = authorization.map((mode) => known[mode]);
  return firstOpinion([masters, ...(modes.length > 0 ? modes : [rbac])]);
}
