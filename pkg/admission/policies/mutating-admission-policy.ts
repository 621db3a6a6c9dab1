import type { AdmissionPlugin } from "../plugin.ts";

/**
 * Applies the mutations of MutatingAdmissionPolicies that are bound to the request. Needs the feature
 * gate MutatingAdmissionPolicy.
 */
export const mutatingAdmissionPolicy: AdmissionPlugin = {
  name: "MutatingAdmissionPolicy",
  enabled: "default",
  create: ({ gates, mutatingPolicies }) =>
    gates("MutatingAdmissionPolicy")
      ? { mutate: (attributes, reinvocation) => mutatingPolicies.mutate(attributes, reinvocation) }
      : {},
};
