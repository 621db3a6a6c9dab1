import { kind } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { checkWebhooks, checkWebhooksUpdate } from "./webhook-rules.ts";
import { mutatingWebhookConfigurationV1 } from "./webhook-structs.ts";

export const mutatingWebhookConfiguration = kind(mutatingWebhookConfigurationV1, {
  group: "admissionregistration.{api}",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  categories: ["api-extensions"],
  scope: "Cluster",
  versions: [
    {
      version: "v1",
      struct: mutatingWebhookConfigurationV1,
      onByDefault: true,
      convert: "hub",
    },
  ],
  rules: {
    freeFinalizers: true,
    metadataOnUpdate: { "": ["object"] },
    unconditionalUpdate: false,
    generation: "exact",
  },
  hooks: {
    validate: checkWebhooks,
    validateUpdate: checkWebhooksUpdate,
  },
  columns: [nameColumn, column("Webhooks", "Number of webhooks.", { type: "integer" }), ageColumn],
  row: (object, context) => [nameOf(object), object.webhooks?.length ?? 0, ageOf(object, context)],
});
