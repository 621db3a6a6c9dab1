import { deepEqual } from "#base";
import type { AdmissionPlugin } from "../../plugin.ts";
import { checkSigner, isRequestUpdate } from "./signer-permission.ts";

/** Issuing a certificate, or setting the condition Failed, needs the verb `sign` for the signer. */
export const certificateSigning: AdmissionPlugin = {
  name: "CertificateSigning",
  enabled: "default",
  resources: ["certificatesigningrequests"],
  create: (parts) => ({
    validate: (attributes) => {
      if (!isRequestUpdate(attributes, "status")) return undefined;
      const { object, old } = attributes;
      const isSame = (object.status.certificate ?? "") === (old.status.certificate ?? "");
      if (isSame && deepEqual(failures(object), failures(old))) return undefined;
      return checkSigner(parts, attributes, { verb: "sign", signerName: old.spec.signerName });
    },
  }),
};

function failures({ status }: any): readonly unknown[] {
  return (status.conditions ?? []).filter(({ type }: any) => type === "Failed");
}
