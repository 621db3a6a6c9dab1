import { parseRequest } from "#api";
import { resolve } from "#meta";
import { isFor, forbiddenRequest } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { certificatesGroup } from "./signer-permission.ts";

const superuserGroup = "system:masters";

/** Rejects requests for `kube-apiserver-client` certificates in group `system:masters`. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: "CertificateSubjectRestriction",
  enabled: "default",
  resources: ["certificatesigningrequests"],
  create({ domain }) {
    const signer = resolve("{label}/kube-apiserver-client", domain);
    return {
      validate: (attributes) => {
        if (attributes.operation !== "create") return undefined;
        if (!isFor(attributes, certificatesGroup, "certificatesigningrequests")) return undefined;
        const { spec } = attributes.object;
        if (spec.signerName !== signer) return undefined;
        const parsed = parseRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1"));
        if ("fault" in parsed)
          throw forbiddenRequest(attributes, `failed to parse CSR: ${parsed.fault}`);
        if (!parsed.organizations.includes(superuserGroup)) return undefined;
        const subject = `use of ${signer} signer with ${superuserGroup} group`;
        throw forbiddenRequest(attributes, `${subject} is not allowed`);
      },
    };
  },
};
