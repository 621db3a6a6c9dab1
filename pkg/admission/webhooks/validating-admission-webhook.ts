import type { AdmissionPlugin } from "../plugin.ts";

/** Calls the webhooks of ValidatingWebhookConfigurations concurrently. */
export const validatingAdmissionWebhook: AdmissionPlugin = {
  name: "ValidatingAdmissionWebhook",
  enabled: "default",
  create: ({ webhooks }) => ({ validate: (attributes) => webhooks.validate(attributes) }),
};
