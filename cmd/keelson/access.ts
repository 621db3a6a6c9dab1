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
  createRight,
  escalationCheck,
  type Followed,
  NodeAuthorizer,
  Rbac,
} from "#authz";
import type { Clock } from "#base";
import { type Catalog, type Domain, resolve } from "#meta";
import type { Admit, Answerer, Registry } from "#registry";
import type { Authenticator, Authorizer } from "#request";
import type { ServerDocument } from "#server";
import { ConfiguredAuthorizers } from "./authorization.ts";
import { apiserver } from "./bootstrap.ts";
import type { StartOptions } from "./options.ts";
import { type AccountKeys, accountKeys, issuerDocuments } from "./service-accounts.ts";

/** Everything about access that the parts of a server share. */
export interface Access {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** What authorizers must know of; to be fed to them. */
  readonly followed: readonly Followed[];
  readonly mutating: readonly Admit[];
  readonly answerers: ReadonlyMap<string, Answerer>;
  readonly documents: ReadonlyMap<string, ServerDocument>;
  /** Takes changes of configuration files over until the signal aborts. */
  readonly follow: (signal: AbortSignal) => Promise<void>;
}

export interface AccessOptions {
  readonly options: StartOptions;
  readonly adminToken: string;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** Told of what went wrong behind the requests. */
  readonly report: (what: string, error: unknown) => void;
  /** Asked for when the first request comes: the registry needs parts of access itself. */
  readonly registry: () => Registry;
}

export function accessOf(from: AccessOptions): Access {
  const { options, catalog, gates } = from;
  const { domain } = catalog;
  const rbac = rbacWithDefaults(domain, gates);
  const nodes = nodeAuthorizer(rbac, domain);
  const authorizer = authorizersOf(from, { rbac, nodes });
  const ofNodes = authorizer.types.has("Node") ? nodes.followed() : [];
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
    follow: (signal) => authorizer.follow(signal),
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

function authorizersOf(
  { options, clock, catalog, report }: AccessOptions,
  { rbac, nodes }: { readonly rbac: Rbac; readonly nodes: NodeAuthorizer },
): ConfiguredAuthorizers {
  const { authorization, authorizationWebhook, authorizationConfiguration } = options;
  const chosen = {
    ...(authorization && { modes: authorization }),
    ...(authorizationWebhook && { webhook: authorizationWebhook }),
    ...(authorizationConfiguration && { file: authorizationConfiguration }),
  };
  const { domain } = catalog;
  return new ConfiguredAuthorizers(chosen, { clock, domain, rbac, nodes, report });
}
