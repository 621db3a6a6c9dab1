/** Kinds that are sent or decoded from old storage, but not served under any path. */
import type { StructType } from "#schema";
import { admissionReviewV1 } from "./admission/admission-review.ts";
import {
  mutatingWebhookConfigurationV1beta1,
  validatingWebhookConfigurationV1beta1,
} from "./admissionregistration/webhook/webhook-structs.ts";
import {
  validatingV1alpha1,
  validatingV1beta1,
} from "./admissionregistration/policy/validating-policy-structs.ts";
import { scaleV1 } from "./autoscaling/scale.ts";
import {
  nodeProxyOptions,
  podAttachOptions,
  podExecOptions,
  podLogOptions,
  podPortForwardOptions,
  podProxyOptions,
  serviceProxyOptions,
} from "./core/pod/pod-options.ts";
import { podStatusResult, serializedReference } from "./core/pod/pod-wire-kinds.ts";
import { rangeAllocation } from "./core/range-allocation.ts";
import { evictionV1, evictionV1beta1 } from "./policy/eviction.ts";
import { conversionReview } from "./apiextensions/definition-structs.ts";
import { tokenRequestV1 } from "./authentication/token-request.ts";

export interface WireKind {
  /** Template of the API group; "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly struct: StructType<any>;
}

function ofGroup(
  group: string,
  version: string,
  ...structs: readonly StructType<any>[]
): readonly WireKind[] {
  return structs.map((struct) => ({ group, version, kind: struct.name, struct }));
}

export const wireKinds: readonly WireKind[] = [
  ...ofGroup(
    "",
    "v1",
    nodeProxyOptions,
    podAttachOptions,
    podExecOptions,
    podLogOptions,
    podPortForwardOptions,
    podProxyOptions,
    serviceProxyOptions,
    podStatusResult,
    serializedReference,
    rangeAllocation,
  ),
  ...ofGroup("admission.{api}", "v1", admissionReviewV1),
  ...ofGroup("apiextensions.{api}", "v1", conversionReview),
  ...ofGroup("authentication.{api}", "v1", tokenRequestV1),
  ...ofGroup(
    "admissionregistration.{api}",
    "v1beta1",
    mutatingWebhookConfigurationV1beta1,
    validatingWebhookConfigurationV1beta1,
    validatingV1beta1.policy,
    validatingV1beta1.binding,
  ),
  ...ofGroup(
    "admissionregistration.{api}",
    "v1alpha1",
    validatingV1alpha1.policy,
    validatingV1alpha1.binding,
  ),
  ...ofGroup("autoscaling", "v1", scaleV1),
  ...ofGroup("policy", "v1", evictionV1),
  ...ofGroup("policy", "v1beta1", evictionV1beta1),
];
