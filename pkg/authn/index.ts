/** authn: who is asking. */
export { selfReview } from "./self-review.ts";
export { TokenFile } from "./token-file.ts";
export { clientCertificate, Union, type UnionOptions } from "./union.ts";
