/** authn: who is asking. */
export { BootstrapTokens } from "./bootstrap-tokens.ts";
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
export { storedObjects } from "./stored-objects.ts";
export { TokenFile } from "./token-file.ts";
export { tokenRequest } from "./token-request.ts";
export { tokenReview } from "./token-review.ts";
export { Tokens } from "./token.ts";
export { clientCertificate, Union, type UnionOptions } from "./union.ts";
