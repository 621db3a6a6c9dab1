import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("ImagePolicyWebhook", () => {
  it("cannot start without configuration", async () => {
    await assert.rejects(testAdmission("ImagePolicyWebhook"), {
      name: "AdmissionPluginError",
      message:
        'admission plugin "ImagePolicyWebhook" needs its part of admission-control-config-file',
    });
  });

  it("rejects a configuration without a kubeconfig", async () => {
    const configuration = { ImagePolicyWebhook: { imagePolicy: {} } };
    await assert.rejects(testAdmission("ImagePolicyWebhook", { configuration }), {
      name: "AdmissionConfigurationFault",
      message: "imagePolicy needs a kubeConfigFile",
    });
  });
});
