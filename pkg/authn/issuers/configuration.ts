import { decodeConfiguration, type Domain, refuseProblems, resolve } from "#meta";
import {
  required,
  bool,
  type Infer,
  list,
  pointer,
  Path,
  value,
  Problems,
  string,
  structs,
} from "#schema";
import { compileRules, Environments, type Rules } from "./expressions.ts";
import { checkIssuer } from "./check-issuer.ts";

const v1 = structs("apiserver/pkg/apis/apiserver/v1");

const issuerStruct = v1("Issuer", "Who signs tokens, and for whom.", {
  url: value(1, string, "What tokens say in iss; the discovery document lies below it."),
  discoveryURL: value(2, string, "Where the discovery document is, if elsewhere."),
  certificateAuthority: value(3, string, "PEM of the authorities of that place."),
  audiences: value(4, list(string), "Tokens must be for one of them."),
  audienceMatchPolicy: value(5, string, "MatchAny."),
  egressSelectorType: value(6, string, "Not supported: there are no egress selectors."),
});

const claimRule = v1("ClaimValidationRule", "What tokens must claim.", {
  claim: value(1, string, "Name of a claim."),
  requiredValue: value(2, string, "Its value."),
  expression: value(3, string, "CEL over claims, which must be true."),
  message: value(4, string, "What is said when it is not."),
});

const prefixed = v1("PrefixedClaimOrExpression", "How a part of the user is found.", {
  claim: value(1, string, "Name of a claim."),
  prefix: pointer(2, string, "Stands before its value; may be empty."),
  expression: value(3, string, "CEL over claims."),
});

const claimMappings = v1("ClaimMappings", "How claims become a user.", {
  username: value(1, prefixed, "The name."),
  groups: value(2, prefixed, "The groups."),
  uid: value(
    3,
    v1("ClaimOrExpression", "How the uid is found.", {
      claim: value(1, string, "Name of a claim."),
      expression: value(2, string, "CEL over claims."),
    }),
    "The uid.",
  ),
  extra: value(
    4,
    list(
      v1("ExtraMapping", "How an extra is found.", {
        key: value(1, string, "Key of the extra, a path below a domain."),
        valueExpression: value(2, string, "CEL over claims."),
      }),
    ),
    "The extras.",
  ),
});

const userRule = v1("UserValidationRule", "What users must be.", {
  expression: value(1, string, "CEL over user, which must be true."),
  message: value(2, string, "What is said when it is not."),
});

const jwtStruct = v1("JWTAuthenticator", "Tokens of one issuer.", {
  issuer: required(1, issuerStruct, "Who signs them."),
  claimValidationRules: value(2, list(claimRule), "What they must claim."),
  claimMappings: required(3, claimMappings, "How their claims become a user."),
  userValidationRules: value(4, list(userRule), "What that user must be."),
});

const anonymousStruct = v1("AnonymousAuthConfig", "Requests without credentials.", {
  enabled: required(1, bool, "Whether they become system:anonymous."),
  conditions: value(
    2,
    list(
      v1("AnonymousAuthCondition", "Where they do.", {
        path: required(1, string, "The path of the request, exactly."),
      }),
    ),
    "Where they do; none = everywhere.",
  ),
});

const configurationStruct = v1("AuthenticationConfiguration", "Who may come in.", {
  jwt: value(1, list(jwtStruct), "Issuers of tokens."),
  anonymous: pointer(2, anonymousStruct, "Requests without credentials."),
});

export type JwtConfiguration = Infer<typeof jwtStruct>;
export type ClaimMapping = Infer<typeof prefixed>;

/** An issuer of tokens with its expressions compiled. */
export interface JwtIssuerOptions {
  readonly configuration: JwtConfiguration;
  readonly rules: Rules;
  /** Algorithms that tokens may be signed with; absent = all that are known and not symmetric. */
  readonly algorithms?: readonly string[];
}

export interface AnonymousOptions {
  readonly enabled: boolean;
  /** Where it is; empty = everywhere. */
  readonly paths: readonly string[];
}

export interface AuthenticationConfiguration {
  readonly issuers: readonly JwtIssuerOptions[];
  /** Absent = as `--anonymous-auth` says. */
  readonly anonymous: AnonymousOptions | undefined;
}

const versions = ["v1", "v1beta1", "v1alpha1"].map(
  (version) => `apiserver.config.{api}/${version}`,
);
const mostIssuers = 64;

export interface CheckOptions {
  readonly domain: Domain;
  /** Issuers of service account tokens, which no file may claim to be. */
  readonly ownIssuers: readonly string[];
}

/**
 * Reads the text of an AuthenticationConfiguration: YAML or JSON, without unknown or repeated
 * fields.
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
 * One issuer, as flags describe it.
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
  if (issuers.length > mostIssuers) {
    problems.tooMany(root, issuers.length, mostIssuers);
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
