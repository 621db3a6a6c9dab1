/** authn: authenticators, tokens and reviews. */
export {
  CertificateAuthorities,
  parseCertificates,
} from "./certificates/certificate-authorities.ts";
export { BootstrapTokenAuthenticator } from "./tokens/bootstrap-tokens.ts";
export { hasSpacedToken } from "./tokens/bearer-token.ts";
export { TokenCache } from "./tokens/token-cache.ts";
export {
  type ClusterAuthenticationInfo,
  mergedAuthenticationInfo,
} from "./certificates/cluster-authentication-info.ts";
export { ClientCertificateAuthenticator } from "./certificates/client-certificates.ts";
export { RequestHeaderAuthenticator, type RequestHeaderNames } from "./certificates/front-proxy.ts";
export {
  type AnonymousOptions,
  jwtIssuerOptions,
  readAuthenticationConfiguration,
} from "./issuers/configuration.ts";
export type { JwtConfiguration } from "./issuers/configuration-structs.ts";
export { JwtAuthenticator } from "./issuers/jwt-issuers.ts";
export { signToken } from "./jwt/jwt.ts";
export { selfSubjectReview } from "./self-subject-review.ts";
export { ServiceAccountTokenAuthenticator } from "./service-accounts/service-account-tokens.ts";
export {
  generateSigningKey,
  generateSmallSigningKey,
  keySet,
  parseSigningKey,
  parseVerifyingKeys,
  type SigningKey,
  type VerifyingKey,
} from "./jwt/signing-keys.ts";
export { type ReadObject, secretLabels, storedObjects } from "./stored-objects.ts";
export { TokenCacheMetrics, tokenCacheMetrics } from "./tokens/token-cache-metrics.ts";
export { TokenFileAuthenticator } from "./tokens/token-file.ts";
export { tokenRequest, type TokenRequestOptions } from "./service-accounts/token-request.ts";
export { tokenReview } from "./tokens/token-review.ts";
export { WebhookTokenAuthenticator } from "./tokens/token-webhook.ts";
export { type TokenAuthenticator, UnionTokenAuthenticator } from "./tokens/token-authenticator.ts";
export { UnionAuthenticator } from "./union.ts";
export { withoutBearerProtocol } from "./tokens/websocket-bearer-token.ts";
