/** pki: certificates, keys, and TLS clients. The only importer of @peculiar/x509. */
export {
  createAuthority,
  issueCertificate,
  type KeyPair,
  type LeafOptions,
} from "./certificates.ts";
export { readRequest, signRequest } from "./requests.ts";
export type { RequestedNames } from "./x509-requests.ts";
export { DerFault } from "./der.ts";
export { type Certificate, parseCertificate } from "./verify/certificate.ts";
export { CertificateFault, verifyCertificate } from "./verify/verify.ts";
export { connectTls, TlsAgent } from "./tls-client.ts";
