/** authn: who is asking. */
export {
  CertificateAuthorities,
  parseCertificates,
} from "./certificates/certificate-authorities.ts";
export { BootstrapTokens } from "./tokens/bootstrap-tokens.ts";
export { CachedTokens } from "./tokens/token-cache.ts";
export { type ClusterTrust, publishedTrust } from "./certificates/cluster-authentication-info.ts";
export { ClientCertificates } from "./certificates/client-certificates.ts";
export { FrontProxy, type ProxyHeaders } from "./certificates/front-proxy.ts";
export {
  type AnonymousOptions,
  type JwtConfiguration,
  jwtIssuerOptions,
  readAuthenticationConfiguration,
} from "./issuers/configuration.ts";
export { JwtIssuers } from "./issuers/jwt-issuers.ts";
export { signToken } from "./jwt/jwt.ts";
export { selfReview } from "./self-subject-review.ts";
export { ServiceAccountTokens } from "./service-accounts/service-account-tokens.ts";
export {
  generateSigningKey,
  keySet,
  parseSigningKey,
  parseVerifyingKeys,
  type SigningKey,
  type VerifyingKey,
} from "./jwt/signing-keys.ts";
export { type ReadObject, secretLabels, storedObjects } from "./stored-objects.ts";
export { TokenCacheFigures, tokenCacheMetrics } from "./tokens/token-cache-metrics.ts";
export { TokenFile } from "./tokens/token-file.ts";
export { tokenRequest } from "./service-accounts/token-request.ts";
export { tokenReview } from "./tokens/token-review.ts";
export { TokenWebhook } from "./tokens/token-webhook.ts";
export { type TokenAuthenticator, Tokens } from "./tokens/token-authenticator.ts";
export { Union } from "./union.ts";
export { withoutToken } from "./tokens/websocket-bearer-token.ts";
