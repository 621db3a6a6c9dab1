import type { AdmissionPlugin } from "../plugin.ts";

/** Calls the webhooks of MutatingWebhookConfigurations and applies their patches. */
export const mutatingAdmissionWebhook: AdmissionPlugin = {
  name: "MutatingAdmissionWebhook",
  enabled: "default",
  create: ({ webhooks }) => ({
    mutate: (attributes, reinvocation) => webhooks.mutate(attributes, reinvocation),
  }),
};
