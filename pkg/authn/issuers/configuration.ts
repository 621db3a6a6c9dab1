import { decodeConfiguration, type Domain, refuseProblems, resolve } from "#meta";
import { Path, Problems } from "#schema";
import { configurationStruct, type JwtConfiguration } from "./configuration-structs.ts";
import { compileRules, Environments, type Rules } from "./expressions.ts";
import { checkIssuer } from "./check-issuer.ts";

/** A token issuer with compiled expressions. */
export interface JwtIssuerOptions {
  readonly configuration: JwtConfiguration;
  readonly rules: Rules;
  /** Allowed signing algorithms; absent = all supported asymmetric ones. */
  readonly algorithms?: readonly string[];
}

export interface AnonymousOptions {
  readonly enabled: boolean;
  /** Paths with anonymous access; empty = all. */
  readonly paths: readonly string[];
}

export interface AuthenticationConfiguration {
  readonly issuers: readonly JwtIssuerOptions[];
  /** Undefined = by `--anonymous-auth`. */
  readonly anonymous: AnonymousOptions | undefined;
}

const versions = ["v1", "v1beta1", "v1alpha1"].map(
  (version) => `apiserver.config.{api}/${version}`,
);
const maxIssuers = 64;

export interface CheckOptions {
  readonly domain: Domain;
  /** Issuers of service account tokens, which the file must not contain. */
  readonly ownIssuers: readonly string[];
}

/**
 * Strictly parses an AuthenticationConfiguration (YAML or JSON).
 * @throws ConfigurationFault
 */
export function readAuthenticationConfiguration(
  text: string,
  options: CheckOptions,
): AuthenticationConfiguration {
  const known = versions.map((version) => resolve(version, options.domain));
  const { jwt, anonymous } = decodeConfiguration(text, configurationStruct, known);
  const problems = new Problems();
  const issuers = checkJwt(jwt ?? [], problems, options);
  if (anonymous && !anonymous.enabled && anonymous.conditions?.length) {
    const path = Path.of("anonymous.conditions");
    problems.invalid(path, anonymous.conditions, "need anonymous.enabled to be true");
  }
  refuseProblems(problems);
  const paths = (anonymous?.conditions ?? []).map(({ path }) => path);
  return { issuers, anonymous: anonymous && { enabled: anonymous.enabled, paths } };
}

/**
 * Issuer of the `--oidc-*` flags.
 * @throws ConfigurationFault
 */
export function jwtIssuerOptions(
  configuration: JwtConfiguration,
  options: CheckOptions,
): JwtIssuerOptions {
  const problems = new Problems();
  const [issuer] = checkJwt([configuration], problems, options);
  refuseProblems(problems);
  return issuer!;
}

function checkJwt(
  issuers: readonly JwtConfiguration[],
  problems: Problems,
  options: CheckOptions,
): readonly JwtIssuerOptions[] {
  const root = Path.of("jwt");
  if (issuers.length > maxIssuers) {
    problems.tooMany(root, issuers.length, maxIssuers);
    return [];
  }
  const urls = new Set<string>();
  const discoveryUrls = new Set<string>();
  const environments = new Environments();
  return issuers.map((configuration, index) => {
    const path = root.index(index);
    const { issuer } = configuration;
    checkIssuer(issuer, { path: path.child("issuer"), problems, ...options });
    const { url = "", discoveryURL = "" } = issuer;
    if (url !== "" && urls.has(url)) problems.duplicate(path.child("issuer", "url"), url);
    if (discoveryURL !== "" && discoveryUrls.has(discoveryURL)) {
      problems.duplicate(path.child("issuer", "discoveryURL"), discoveryURL);
    }
    urls.add(url);
    discoveryUrls.add(discoveryURL);
    const checking = { path, problems, environments, domain: options.domain };
    const rules = compileRules(configuration, checking);
    return { configuration, rules };
  });
}
