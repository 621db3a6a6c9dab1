/** authn: who is asking. */
export { CertificateAuthorities, parseCertificates } from "./authorities.ts";
export { BootstrapTokens } from "./bootstrap-tokens.ts";
export { CachedTokens } from "./cached-tokens.ts";
export { type ClusterTrust, publishedTrust } from "./cluster-trust.ts";
export { ClientCertificates } from "./client-certificates.ts";
export { FrontProxy, type ProxyHeaders } from "./front-proxy.ts";
export {
  type AnonymousOptions,
  type JwtConfiguration,
  jwtIssuerOptions,
  readAuthenticationConfiguration,
} from "./issuers/configuration.ts";
export { JwtIssuers } from "./issuers/jwt-issuers.ts";
export { signToken } from "./jwt.ts";
export { selfReview } from "./self-review.ts";
export { ServiceAccountTokens } from "./service-account-tokens.ts";
export {
  generateSigningKey,
  keySet,
  parseSigningKey,
  parseVerifyingKeys,
  type SigningKey,
  type VerifyingKey,
} from "./signing-keys.ts";
export { type ReadObject, secretLabels, storedObjects } from "./stored-objects.ts";
export { TokenCacheFigures, tokenCacheMetrics } from "./token-cache-figures.ts";
export { TokenFile } from "./token-file.ts";
export { tokenRequest } from "./token-request.ts";
export { tokenReview } from "./token-review.ts";
export { TokenWebhook } from "./token-webhook.ts";
export { type TokenAuthenticator, Tokens } from "./token.ts";
export { Union } from "./union.ts";
export { withoutToken } from "./websocket-bearer.ts";
