/** plugins/certificates: permissions to approve, sign and attest certificates. */
export { certificateApproval } from "./certificate-approval.ts";
export { certificateSigning } from "./certificate-signing.ts";
export { certificateSubjectRestriction } from "./certificate-subject-restriction.ts";
export { clusterTrustBundleAttest } from "./cluster-trust-bundle-attest.ts";
