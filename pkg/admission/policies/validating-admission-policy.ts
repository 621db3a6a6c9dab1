import type { AdmissionPlugin } from "../plugin.ts";

/** Evaluates the ValidatingAdmissionPolicies that are bound to the request. */
export const validatingAdmissionPolicy: AdmissionPlugin = {
  name: "ValidatingAdmissionPolicy",
  enabled: "default",
  create: ({ validatingPolicies }) => ({
    validate: (attributes) => validatingPolicies.validate(attributes),
  }),
};
