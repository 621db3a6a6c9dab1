import type { AdmissionPlugin } from "../../plugin.ts";
import { checkSigner, isRequestUpdate } from "./signer-permission.ts";

/** Approving or denying a CertificateSigningRequest needs the verb `approve` for its signer. */
export const certificateApproval: AdmissionPlugin = {
  name: "CertificateApproval",
  enabled: "default",
  resources: ["certificatesigningrequests"],
  create: (parts) => ({
    validate: (attributes) => {
      if (!isRequestUpdate(attributes, "approval")) return undefined;
      const { signerName } = attributes.old.spec;
      return checkSigner(parts, attributes, { verb: "approve", signerName });
    },
  }),
};
