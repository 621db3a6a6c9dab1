/** Authentication and authorization, as start options configure them. */
import type { AccessChecks } from "#admission";
import type { AccessDefault } from "#api";
import {
  selfSubjectReview,
  storedObjects,
  TokenCacheMetrics,
  tokenRequest,
  tokenReview,
} from "#authn";
import {
  accessReviews,
  authorizeCreateByUpdate,
  rbacEscalationCheck,
  type FollowedKind,
  NodeAuthorizer,
  RbacAuthorizer,
} from "#authz";
import { type Clock, realClock } from "#base";
import { type Catalog, type Domain, resolve } from "#meta";
import type { CreateHandler, Registry } from "#registry";
import type { Authenticator, Authorizer, Instruments, PolicyRule, Tracer } from "#request";
import type { ServerDocument } from "#server";
import { buildAuthentication } from "../authentication/authentication.ts";
import { ConfiguredAuthorizers } from "./authorization.ts";
import type { FileReloader } from "../files/file-reloader.ts";
import type { StartOptions } from "../options.ts";
import { serviceAccountKeys, issuerDocuments } from "../authentication/service-accounts.ts";

/** Authenticator, authorizer and what depends on them. */
export interface AccessControl {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Resources that the authorizers watch. */
  readonly followed: readonly FollowedKind[];
  /** Authorization checks of admission plugins. */
  readonly accessChecks: AccessChecks;
  readonly createHandlers: ReadonlyMap<string, CreateHandler>;
  readonly documents: ReadonlyMap<string, ServerDocument>;
}

export interface AccessControlOptions {
  readonly options: StartOptions;
  readonly adminToken: string;
  /** Generated CA certificate (PEM); undefined = the server does not listen. */
  readonly ownAuthority: string | undefined;
  readonly files: FileReloader;
  readonly catalog: Catalog;
  readonly accessDefaults: () => readonly AccessDefault[];
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** Reports errors outside requests, by default to the log. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
  /** Records calls to webhooks. */
  readonly tracer: Tracer;
  /** Aborts when the server stops. */
  readonly life: AbortSignal;
  /** Called by the first request: the registry itself needs the authorizer. */
  readonly registry: () => Registry;
}

export function buildAccessControl(from: AccessControlOptions): AccessControl {
  const { options, catalog } = from;
  const { domain } = catalog;
  const rbac = new RbacAuthorizer(resolve("rbac.authorization.{api}", domain));
  const nodes = nodeAuthorizer(from.accessDefaults, domain);
  const authorizer = authorizersOf(from, { rbac, nodes });
  const ofNodes = authorizer.types.has("Node") ? nodes.followed() : [];
  const keys = serviceAccountKeys(options.serviceAccounts ?? {});
  const read = storedObjects(from.registry, catalog);
  const metrics = new TokenCacheMetrics(from.instruments);
  const { authenticator, tokens } = buildAuthentication({ ...from, keys, read, metrics });
  return {
    authenticator,
    authorizer,
    followed: [...rbac.followed(), ...ofNodes],
    accessChecks: {
      createByUpdate: authorizeCreateByUpdate(authorizer),
      rbacEscalation: rbacEscalationCheck({ rbac, authorizer, domain }),
    },
    createHandlers: new Map<string, CreateHandler>([
      ...accessReviews(authorizer, domain),
      ["/selfsubjectreviews/", selfSubjectReview],
      ["/tokenreviews/", tokenReview(tokens)],
      [
        "/serviceaccounts/token",
        tokenRequest({
          ...keys,
          read,
          domain,
          checksUid: from.gates("TokenRequestServiceAccountUIDValidation"),
        }),
      ],
    ]),
    documents: issuerDocuments(keys),
  };
}

function nodeAuthorizer(defaults: () => readonly AccessDefault[], domain: Domain): NodeAuthorizer {
  const find = () =>
    defaults().find(
      ({ kind, object }) => kind.kind === "ClusterRole" && object.metadata.name === "system:node",
    );
  let rules: readonly PolicyRule[] | undefined;
  return new NodeAuthorizer({
    domain,
    get rules() {
      return (rules ??= find()?.object.rules ?? []);
    },
  });
}

function authorizersOf(
  { options, clock, catalog, report, files, life, tracer }: AccessControlOptions,
  { rbac, nodes }: { readonly rbac: RbacAuthorizer; readonly nodes: NodeAuthorizer },
): ConfiguredAuthorizers {
  const { authorization, authorizationPolicies: policies } = options;
  const { authorizationWebhook, authorizationConfiguration } = options;
  const chosen = {
    ...(authorization && { modes: authorization }),
    ...(policies !== undefined && { policies }),
    ...(authorizationWebhook && { webhook: authorizationWebhook }),
    ...(authorizationConfiguration && { configuration: authorizationConfiguration }),
  };
  const { domain } = catalog;
  const parts = { clock: realClock(clock), domain, rbac, nodes, report, files, life, tracer };
  return new ConfiguredAuthorizers(chosen, parts);
}
