import type { Kind } from "#meta";
import { mutatingAdmissionPolicy } from "./policy/mutating-admission-policy.ts";
import { mutatingAdmissionPolicyBinding } from "./policy/mutating-admission-policy-binding.ts";
import { mutatingWebhookConfiguration } from "./webhook/mutating-webhook-configuration.ts";
import { validatingAdmissionPolicy } from "./policy/validating-admission-policy.ts";
import { validatingAdmissionPolicyBinding } from "./policy/validating-admission-policy-binding.ts";
import { validatingWebhookConfiguration } from "./webhook/validating-webhook-configuration.ts";

export const admissionRegistrationKinds: readonly Kind[] = [
  mutatingAdmissionPolicy,
  mutatingAdmissionPolicyBinding,
  mutatingWebhookConfiguration,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
  validatingWebhookConfiguration,
];
