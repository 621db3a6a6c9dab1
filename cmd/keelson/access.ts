/** Who may come in and what they may do, as start options say it. */
import { accessDefaults } from "#api";
import {
  BootstrapTokens,
  clientCertificate,
  selfReview,
  ServiceAccountTokens,
  storedObjects,
  TokenFile,
  tokenRequest,
  tokenReview,
  Tokens,
  Union,
} from "#authn";
import {
  type AccessKind,
  accessReviews,
  alwaysAllow,
  alwaysDeny,
  createRight,
  escalationCheck,
  firstOpinion,
  type Followed,
  masters,
  NodeAuthorizer,
  Rbac,
} from "#authz";
import type { Clock } from "#base";
import { type Catalog, type Domain, resolve } from "#meta";
import type { Admit, Answerer, Registry } from "#registry";
import type { Authenticator, Authorizer } from "#request";
import type { ServerDocument } from "#server";
import { apiserver } from "./bootstrap.ts";
import type { StartOptions } from "./options.ts";
import { type AccountKeys, accountKeys, issuerDocuments } from "./service-accounts.ts";

export const authorizationModes = ["RBAC", "Node", "AlwaysAllow", "AlwaysDeny"] as const;

export type AuthorizationMode = (typeof authorizationModes)[number];

/** Everything about access that the parts of a server share. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** What authorizers must know of; to be fed to them. */
  readonly followed: readonly Followed[];
  readonly mutating: readonly Admit[];
  readonly answerers: ReadonlyMap<string, Answerer>;
  readonly documents: ReadonlyMap<string, ServerDocument>;
}

export interface AccessOptions {
  readonly options: StartOptions;
  readonly adminToken: string;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** Asked for when the first request comes: the registry needs parts of access itself. */
  readonly registry: () => Registry;
}

export function accessOf(from: AccessOptions): Access {
  const { options, catalog, gates } = from;
  const { domain } = catalog;
  const rbac = rbacWithDefaults(domain, gates);
  const { authorization = ["RBAC"] } = options;
  const nodes = nodeAuthorizer(rbac, domain);
  const authorizer = authorizerOf(authorization, { rbac, nodes });
  const ofNodes = authorization.includes("Node") ? nodes.followed() : [];
  const keys = accountKeys(options.serviceAccounts);
  const tokens = tokensOf(from, keys);
  return {
    authenticator: new Union({
      authenticators: [clientCertificate, tokens],
      anonymous: options.anonymous ?? true,
    }),
    authorizer,
    followed: [...rbac.followed(), ...ofNodes],
    mutating: [createRight(authorizer), escalationCheck({ rbac, authorizer, domain })],
    answerers: new Map<string, Answerer>([
      ...accessReviews(authorizer, domain),
      ["/selfsubjectreviews/", selfReview],
      ["/tokenreviews/", tokenReview(tokens)],
      ["/serviceaccounts/token", tokenRequest({ ...keys, read: readerOf(from), domain })],
    ]),
    documents: issuerDocuments(keys),
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

/** The generated admin token, the token file, those of service accounts and of joining nodes. */
function tokensOf(from: AccessOptions, keys: AccountKeys): Tokens {
  const { options, adminToken, clock, catalog } = from;
  const { domain } = catalog;
  const read = readerOf(from);
  const admin = new TokenFile(`${adminToken},admin,admin,"system:masters"`);
  const listed = options.tokens === undefined ? [] : [new TokenFile(options.tokens)];
  const accounts = new ServiceAccountTokens({
    issuers: keys.issuers,
    keys: keys.accepted,
    read,
    clock,
    domain,
  });
  const joining = options.bootstrapTokens ? [new BootstrapTokens({ read, clock, domain })] : [];
  return new Tokens([admin, ...listed, accounts, ...joining], keys.audiences);
}

function readerOf({ registry, catalog }: AccessOptions): ReturnType<typeof storedObjects> {
  return storedObjects(registry, { catalog, user: apiserver });
}

function nodeAuthorizer(rbac: Rbac, domain: Domain): NodeAuthorizer {
  const role = { kind: "ClusterRole", name: "system:node" };
  return new NodeAuthorizer({ domain, rules: rbac.referred(role, "") ?? [] });
}

function authorizerOf(
  modes: readonly AuthorizationMode[],
  { rbac, nodes }: { readonly rbac: Rbac; readonly nodes: NodeAuthorizer },
): Authorizer {
  const known: Readonly<Record<AuthorizationMode, Authorizer>> = {
    RBAC: rbac,
    Node: nodes,
    AlwaysAllow: alwaysAllow,
    AlwaysDeny: alwaysDeny,
  };
  return firstOpinion([masters, ...modes.map((mode) => known[mode])]);
}
