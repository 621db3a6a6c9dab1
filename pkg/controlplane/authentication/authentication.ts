/** Authentication, as start options configure it. */
import {
  type AnonymousOptions,
  BootstrapTokenAuthenticator,
  TokenCache,
  CertificateAuthorities,
  ClientCertificateAuthenticator,
  RequestHeaderAuthenticator,
  JwtAuthenticator,
  jwtIssuerOptions,
  type ReadObject,
  readAuthenticationConfiguration,
  secretLabels,
  ServiceAccountTokenAuthenticator,
  type TokenAuthenticator,
  type TokenCacheMetrics,
  TokenFileAuthenticator,
  UnionTokenAuthenticator,
  WebhookTokenAuthenticator,
  UnionAuthenticator,
} from "#authn";
import { type Clock, realClock } from "#base";
import { type Catalog, ConfigurationFault } from "#meta";
import type { Registry } from "#registry";
import { type Authenticator, type Tracer, webhookClient } from "#request";
import { type FileReloader, fromFlag, type TextSource } from "../files/file-reloader.ts";
import type { StartOptions } from "../options.ts";
import type { OidcOptions } from "./authentication-options.ts";
import type { ServiceAccountKeys } from "./service-accounts.ts";

export interface AuthenticationParts {
  readonly options: StartOptions;
  readonly adminToken: string;
  /**
   * Generated CA certificate (PEM); "" = none was required, undefined = the server does not listen.
   */
  readonly ownAuthority: string | undefined;
  readonly files: FileReloader;
  readonly keys: ServiceAccountKeys;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** Reads the objects that tokens are bound to. */
  readonly read: ReadObject;
  readonly registry: () => Registry;
  readonly report: (what: string, error: unknown) => void;
  readonly tracer: Tracer;
  readonly metrics: TokenCacheMetrics;
  /** Aborts when the server stops. */
  readonly life: AbortSignal;
}

export interface Authentication {
  readonly authenticator: Authenticator;
  readonly tokens: UnionTokenAuthenticator;
}

/** Cache TTL in ms of tokens of JWT issuers. */
const issuerTtlMs = 10_000;
/**
 * Time in ms for which a lookup is cached: every replica must notice a revocation within one
 * second.
 */
const accountTtlMs = 500;
const webhookTimeoutMs = 30_000;
const webhookCacheMs = 120_000;

/** @throws ConfigurationFault, Error for certificates that cannot be read */
export function buildAuthentication(parts: AuthenticationParts): Authentication {
  const { options } = parts;
  const flagged: AnonymousOptions = { enabled: isAnonymousAllowed(options), paths: [] };
  let anonymous = flagged;
  const issuers = new JwtAuthenticator({
    clock: realClock(parts.clock),
    domain: parts.catalog.domain,
    signal: parts.life,
    report: (error) => parts.report("Failed to fetch the keys of a JWT issuer", error),
  });
  if (options.oidc !== undefined) issuers.replace([oidcIssuer(options.oidc, parts)]);
  if (options.authentication !== undefined) {
    const apply = (text = "") => {
      const configuration = configurationOf(text, parts);
      issuers.replace(configuration.issuers);
      anonymous = configuration.anonymous ?? flagged;
    };
    parts.files.use([options.authentication], apply, "authentication");
  }
  const tokens = tokensOf(parts, issuers);
  return {
    tokens,
    authenticator: new UnionAuthenticator({
      authenticators: [...frontProxy(parts), ...clientCertificates(parts), tokens],
      anonymous: (path) =>
        anonymous.enabled && (anonymous.paths.length === 0 || anonymous.paths.includes(path)),
    }),
  };
}

/**
 * As in kube-apiserver, anonymous requests are rejected if `--authorization-mode` contains
 * AlwaysAllow, even with `--anonymous-auth`: they would be allowed everything. An
 * AuthenticationConfiguration that configures `anonymous` overrides this.
 */
function isAnonymousAllowed({
  anonymous = true,
  authorization = [],
  logger,
}: StartOptions): boolean {
  const isEverythingAllowed = authorization.includes("AlwaysAllow");
  if (anonymous && isEverythingAllowed) {
    logger?.info(
      0,
      "Anonymous authentication is disabled: --authorization-mode contains AlwaysAllow",
    );
  }
  return anonymous && !isEverythingAllowed;
}

function configurationOf(text: string, { options, keys, catalog }: AuthenticationParts) {
  const checks = { domain: catalog.domain, ownIssuers: keys.issuers };
  const configuration = readAuthenticationConfiguration(text, checks);
  if (configuration.anonymous !== undefined && options.anonymous === false) {
    throw new ConfigurationFault("anonymous: must not be set together with --anonymous-auth=false");
  }
  return configuration;
}

function oidcIssuer({ issuer, algorithms }: OidcOptions, { keys, catalog }: AuthenticationParts) {
  const checks = { domain: catalog.domain, ownIssuers: keys.issuers };
  return { ...jwtIssuerOptions(issuer, checks), algorithms };
}

function frontProxy(parts: AuthenticationParts): readonly Authenticator[] {
  const { options, files, clock, gates } = parts;
  if (options.frontProxy === undefined) return [];
  const { ca, allowedNames, headers } = options.frontProxy;
  if (headers.uid.length > 0 && !gates("RemoteRequestHeaderUID")) {
    throw new ConfigurationFault(
      '--requestheader-uid-headers requires the "RemoteRequestHeaderUID" feature to be enabled',
    );
  }
  const authorities = followedAuthorities(files, [ca], clock);
  return [new RequestHeaderAuthenticator({ authorities, allowedNames, headers })];
}

function clientCertificates(parts: AuthenticationParts): readonly Authenticator[] {
  const { options, ownAuthority, files, clock, catalog, gates } = parts;
  if (ownAuthority === undefined) return [];
  const own = ownAuthority === "" ? [] : [ownAuthority];
  const given = options.clientCa === undefined ? [] : [options.clientCa];
  const authorities = followedAuthorities(files, [...own, ...given], clock);
  const readsUid = gates("AllowParsingUserUIDFromCertAuth");
  return [new ClientCertificateAuthenticator({ authorities, domain: catalog.domain, readsUid })];
}

function followedAuthorities(
  files: FileReloader,
  sources: readonly TextSource[],
  clock: Clock,
): CertificateAuthorities {
  const authorities = new CertificateAuthorities(realClock(clock));
  files.use(sources, (...texts) => authorities.replace(...texts));
  return authorities;
}

/**
 * Token authenticators in their order: admin token, token file, service accounts, bootstrap tokens,
 * JWT issuers, webhook.
 */
function tokensOf(parts: AuthenticationParts, issuers: JwtAuthenticator): UnionTokenAuthenticator {
  const { options, adminToken, keys, clock, metrics, catalog, read, registry, report } = parts;
  const { domain } = catalog;
  const onLabelFault = (error: unknown) =>
    report("Failed to record the last use of a service account token Secret", error);
  const accounts = new ServiceAccountTokenAuthenticator({
    issuers: keys.issuers,
    verifyingKeys: keys.verifyingKeys,
    read,
    labelSecret: secretLabels(registry, catalog, onLabelFault),
    clock,
    domain,
  });
  const kinds: readonly TokenAuthenticator[] = [
    new TokenFileAuthenticator(`${adminToken},admin,admin,"system:masters"`),
    ...tokenFile(options),
    new TokenCache(accounts, { clock, metrics, successTtlMs: accountTtlMs }),
    ...(options.bootstrapTokens ? [new BootstrapTokenAuthenticator({ read, clock, domain })] : []),
    ...(hasIssuers(options)
      ? [new TokenCache(issuers, { clock: realClock(clock), metrics, successTtlMs: issuerTtlMs })]
      : []),
    ...tokenWebhook(parts),
  ];
  return new UnionTokenAuthenticator(kinds, keys.audiences, domain);
}

function tokenFile({ tokens }: StartOptions): readonly TokenAuthenticator[] {
  return tokens === undefined
    ? []
    : [fromFlag("token-auth-file", () => new TokenFileAuthenticator(tokens))];
}

function hasIssuers({ oidc, authentication }: StartOptions): boolean {
  return oidc !== undefined || authentication !== undefined;
}

function tokenWebhook(parts: AuthenticationParts): readonly TokenAuthenticator[] {
  const { options, metrics, catalog, report, life, tracer } = parts;
  if (options.tokenWebhook === undefined) return [];
  const clock = realClock(parts.clock);
  const { endpoint, cacheMs = webhookCacheMs, version = "v1beta1" } = options.tokenWebhook;
  const client = webhookClient({ endpoint, timeoutMs: webhookTimeoutMs, clock, tracer });
  life.addEventListener("abort", () => client.close(), { once: true });
  const webhook = new WebhookTokenAuthenticator({
    client,
    domain: catalog.domain,
    version,
    report: (error) => report("Token webhook failed", error),
  });
  return [
    new TokenCache(webhook, { clock, metrics, successTtlMs: cacheMs, failureTtlMs: cacheMs }),
  ];
}
