/** authn: who is asking. */
export { TokenFile } from "./token-file.ts";
export { clientCertificate, Union, type UnionOptions } from "./union.ts";
