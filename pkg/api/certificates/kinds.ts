import type { Kind } from "#meta";
import { certificateSigningRequest } from "./certificate-signing-request.ts";
import { clusterTrustBundle } from "./cluster-trust-bundle.ts";
import { podCertificateRequest } from "./pod-certificate-request.ts";

export const certificateKinds: readonly Kind[] = [
  certificateSigningRequest,
  clusterTrustBundle,
  podCertificateRequest,
];
