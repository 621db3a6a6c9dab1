/** admission: what the server itself does to writes, and which of them it refuses. */
import type { Clock } from "#base";
import type { Admit } from "#registry";
import type { Authorizer } from "#request";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjects,
  trustBundles,
} from "./certificates.ts";
import { defaultIngressClass } from "./ingress-class.ts";
import { limitChecks, limitDefaults } from "./limit-ranger.ts";
import { notReadyTaint } from "./node-taint.ts";
import { type AdmissionParts, Objects } from "./objects.ts";
import { onePriorityDefault, priorityOfPods } from "./priority.ts";
import { resourceQuota } from "./resource-quota.ts";
import { runtimeClassOfPods, runtimeOverhead } from "./runtime-class.ts";
import { serviceAccountOfPods, serviceAccountUse } from "./service-account.ts";
import { claimResize, defaultStorageClass, storageProtection } from "./storage.ts";
import { defaultTolerations } from "./tolerations.ts";

export type { AdmissionParts } from "./objects.ts";

export interface DefaultAdmission {
  /** In order; policies and webhooks that change objects come after them. */
  readonly mutating: readonly Admit[];
  /** In order; policies and webhooks that refuse objects come after them. */
  readonly validating: readonly Admit[];
  /** Comes last of all: what is refused for another reason uses up no quota. */
  readonly quota: Admit;
}

/** The plugins that are on by default, in Kubernetes' order. */
export function defaultAdmission(
  parts: AdmissionParts & { readonly clock: Clock; readonly authorizer: Authorizer },
): DefaultAdmission {
  const { clock, authorizer } = parts;
  const { domain } = parts.catalog;
  const objects = new Objects(parts);
  const sleep = (ms: number, signal: AbortSignal) => clock.sleep(ms, signal);
  const signers = { authorizer, domain };
  const accounts = { objects, domain, sleep };
  return {
    mutating: [
      limitDefaults(objects, domain),
      serviceAccountOfPods(accounts),
      notReadyTaint(domain),
      priorityOfPods(objects),
      defaultTolerations(domain),
      defaultStorageClass(objects, domain),
      storageProtection(domain),
      runtimeClassOfPods(objects),
      defaultIngressClass(objects, domain),
    ],
    validating: [
      limitChecks(objects),
      serviceAccountUse(accounts),
      onePriorityDefault(objects),
      claimResize(objects, domain),
      runtimeOverhead(objects),
      certificateApproval(signers),
      certificateSigning(signers),
      trustBundles(signers),
      certificateSubjects(domain),
    ],
    quota: resourceQuota({ ...parts, objects, clock }),
  };
}
