import { deepEqual } from "#base";
import { isFor } from "../../objects.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { certificatesGroup, checkSigner } from "./signer-permission.ts";

/** Publishing a ClusterTrustBundle of a signer needs the verb `attest` for the signer. */
export const clusterTrustBundleAttest: AdmissionPlugin = {
  name: "ClusterTrustBundleAttest",
  enabled: "default",
  resources: ["clustertrustbundles"],
  create: (parts) => ({
    validate: (attributes) => {
      const { object, old, operation } = attributes;
      if (operation === "delete") return undefined;
      if (!isFor(attributes, certificatesGroup, "clustertrustbundles")) return undefined;
      const { signerName = "" } = object.spec;
      const isSame = old !== undefined && deepEqual(old.spec, object.spec);
      if (signerName === "" || isSame) return undefined;
      return checkSigner(parts, attributes, { verb: "attest", signerName });
    },
  }),
};
