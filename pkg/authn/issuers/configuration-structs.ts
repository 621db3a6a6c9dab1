/** Fields of an AuthenticationConfiguration. */
import { required, bool, type Infer, list, pointer, value, string, structs } from "#schema";

const v1 = structs("apiserver/pkg/apis/apiserver/v1");

const issuerStruct = v1("Issuer", "Issuer of tokens, and the audiences that it issues them for.", {
  url: value(1, string, "Value of the claim iss; base URL of the discovery document."),
  discoveryURL: value(2, string, "URL of the discovery document, if other than below url."),
  certificateAuthority: value(3, string, "PEM of the certificate authorities of that URL."),
  audiences: value(4, list(string), "Accepted audiences; a token must have one of them."),
  audienceMatchPolicy: value(5, string, "MatchAny."),
  egressSelectorType: value(6, string, "Not supported: there are no egress selectors."),
});

const claimRule = v1("ClaimValidationRule", "Requirement for the claims of a token.", {
  claim: value(1, string, "Name of a claim."),
  requiredValue: value(2, string, "Required value of the claim."),
  expression: value(3, string, "CEL expression over claims that must evaluate to true."),
  message: value(4, string, "Error message if it does not."),
});

const prefixed = v1(
  "PrefixedClaimOrExpression",
  "Source of an attribute of the user: a claim or an expression.",
  {
    claim: value(1, string, "Name of a claim."),
    prefix: pointer(2, string, "Prefix of the value; may be empty."),
    expression: value(3, string, "CEL expression over claims."),
  },
);

const claimMappings = v1("ClaimMappings", "Mapping from claims to the attributes of the user.", {
  username: value(1, prefixed, "Username."),
  groups: value(2, prefixed, "Groups."),
  uid: value(
    3,
    v1("ClaimOrExpression", "Source of the uid: a claim or an expression.", {
      claim: value(1, string, "Name of a claim."),
      expression: value(2, string, "CEL expression over claims."),
    }),
    "UID.",
  ),
  extra: value(
    4,
    list(
      v1("ExtraMapping", "Source of an extra attribute.", {
        key: value(1, string, "Key of the attribute, a domain-prefixed path."),
        valueExpression: value(2, string, "CEL expression over claims."),
      }),
    ),
    "Extra attributes.",
  ),
});

const userRule = v1("UserValidationRule", "Requirement for the mapped user.", {
  expression: value(1, string, "CEL expression over user that must evaluate to true."),
  message: value(2, string, "Error message if it does not."),
});

const jwtStruct = v1("JWTAuthenticator", "Authenticator for the tokens of one issuer.", {
  issuer: required(1, issuerStruct, "Issuer of the tokens."),
  claimValidationRules: value(2, list(claimRule), "Requirements for the claims."),
  claimMappings: required(3, claimMappings, "Mapping from claims to the user."),
  userValidationRules: value(4, list(userRule), "Requirements for the mapped user."),
});

const anonymousStruct = v1("AnonymousAuthConfig", "Configuration of anonymous requests.", {
  enabled: required(
    1,
    bool,
    "Whether requests without credentials are authenticated as system:anonymous.",
  ),
  conditions: value(
    2,
    list(
      v1("AnonymousAuthCondition", "Condition under which anonymous requests are allowed.", {
        path: required(1, string, "Exact path of the request."),
      }),
    ),
    "Allowed paths; empty = all.",
  ),
});

export const configurationStruct = v1(
  "AuthenticationConfiguration",
  "Configuration of authentication.",
  {
    jwt: value(1, list(jwtStruct), "JWT authenticators."),
    anonymous: pointer(2, anonymousStruct, "Configuration of anonymous requests."),
  },
);

export type JwtConfiguration = Infer<typeof jwtStruct>;
export type ClaimMapping = Infer<typeof prefixed>;
