import { onlyChangesGarbageCollection } from "#registry";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { certificatesGroup, checkSigner } from "./signer-permission.ts";

/**
 * Writing a ClusterTrustBundle of a signer needs the verb `attest` for the signer; only finalizers,
 * owner references and managedFields may change without it.
 */
export const clusterTrustBundleAttest: AdmissionPlugin = {
  name: "ClusterTrustBundleAttest",
  enabled: "default",
  resources: ["clustertrustbundles"],
  create: (parts) => ({
    validate: (attributes) => {
      const { object, operation } = attributes;
      if (operation === "delete") return undefined;
      if (!isFor(attributes, certificatesGroup, "clustertrustbundles")) return undefined;
      const { signerName = "" } = object.spec;
      if (signerName === "" || onlyChangesGarbageCollection(attributes)) return undefined;
      return checkSigner(parts, attributes, { verb: "attest", signerName });
    },
  }),
};
