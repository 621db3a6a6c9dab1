import { type Infer, type Path, Path as FieldPath, Problems } from "#schema";
import { isDns1035Label, isDns1123Subdomain } from "#meta";
import { deepEqual } from "#base";
import { checkLabelSelector } from "../../label-selector.ts";
import { checkClientConfig } from "../../webhook-client.ts";
import {
  checkMatchConditions,
  failurePolicies,
  matchPolicies,
  reinvocationPolicies,
} from "../policy/policy-rules.ts";
import { checkRule } from "../rule.ts";
import type {
  mutatingWebhookConfigurationV1,
  validatingWebhookConfigurationV1,
} from "./webhook-structs.ts";
import { duplicateIndexes } from "../../strategy.ts";

type ValidatingWebhook = NonNullable<
  Infer<typeof validatingWebhookConfigurationV1>["webhooks"]
>[number];
type MutatingWebhook = NonNullable<
  Infer<typeof mutatingWebhookConfigurationV1>["webhooks"]
>[number];
type Webhook = ValidatingWebhook & Pick<MutatingWebhook, "reinvocationPolicy">;
export interface Configuration {
  readonly webhooks?: readonly Webhook[];
}

const reviewVersions = ["v1", "v1beta1"];
const noSideEffects = ["None", "NoneOnDryRun"];
const allSideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];

/** Ratcheting: checks that an update skips because the old object already violates them. */
interface Ratcheting {
  readonly sideEffects: readonly string[];
  readonly allowsUnsupportedReviews: boolean;
  readonly allowsDuplicateNames: boolean;
  readonly skipsMatchConditions: boolean;
  readonly allowsInvalidSelectors: boolean;
}

const noRatcheting: Ratcheting = {
  sideEffects: noSideEffects,
  allowsUnsupportedReviews: false,
  allowsDuplicateNames: false,
  skipsMatchConditions: false,
  allowsInvalidSelectors: false,
};

export function checkWebhooks({ webhooks = [] }: Configuration, problems: Problems): void {
  checkAll(webhooks, problems, noRatcheting);
}

/** Validates an update, except rules that the old object already violates. */
export function checkWebhooksUpdate(
  { webhooks = [] }: Configuration,
  { webhooks: old = [] }: Configuration,
  problems: Problems,
): void {
  const names = old.map(({ name }) => name);
  const haveNoSideEffects = old.every(({ sideEffects }) =>
    noSideEffects.includes(sideEffects ?? ""),
  );
  checkAll(webhooks, problems, {
    sideEffects: haveNoSideEffects ? noSideEffects : allSideEffects,
    allowsUnsupportedReviews: old.some(({ admissionReviewVersions }) => {
      const versions = admissionReviewVersions ?? [];
      return versions.length > 0 && !versions.some((version) => reviewVersions.includes(version));
    }),
    allowsDuplicateNames: new Set(names).size < names.length,
    skipsMatchConditions: deepEqual(
      webhooks.map(({ matchConditions = [] }) => matchConditions),
      old.map(({ matchConditions = [] }) => matchConditions),
    ),
    allowsInvalidSelectors: old.some(hasInvalidSelector),
  });
}

function hasInvalidSelector(webhook: Webhook): boolean {
  const problems = new Problems();
  checkSelectors(webhook, FieldPath.root, problems);
  return !problems.empty;
}

function checkAll(webhooks: readonly Webhook[], problems: Problems, ratcheting: Ratcheting): void {
  const names = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const path = FieldPath.of("webhooks").index(index);
    checkWebhook(webhook, path, { problems, ratcheting });
    const versions = webhook.admissionReviewVersions ?? [];
    checkReviewVersions(versions, path.child("admissionReviewVersions"), { problems, ratcheting });
    const { name } = webhook;
    if (!ratcheting.allowsDuplicateNames && name !== "" && names.has(name)) {
      problems.duplicate(path.child("name"), name);
    }
    names.add(name);
  }
}

interface Check {
  readonly problems: Problems;
  readonly ratcheting: Ratcheting;
}

function checkWebhook(webhook: Webhook, path: Path, { problems, ratcheting }: Check): void {
  checkFullyQualifiedName(webhook.name, path.child("name"), problems);
  for (const [index, rule] of (webhook.rules ?? []).entries()) {
    checkRule(rule, path.child("rules").index(index), problems);
  }
  const choice = (value: string | undefined, field: string, values: readonly string[]) => {
    if (value === undefined || values.includes(value)) return;
    problems.notSupported(path.child(field), value, values);
  };
  choice(webhook.failurePolicy, "failurePolicy", failurePolicies);
  choice(webhook.matchPolicy, "matchPolicy", matchPolicies);
  const { sideEffects } = webhook;
  if (sideEffects === null || sideEffects === undefined) {
    const detail = `must specify one of ${ratcheting.sideEffects.join(", ")}`;
    problems.required(path.child("sideEffects"), detail);
  } else choice(sideEffects, "sideEffects", ratcheting.sideEffects);
  const { timeoutSeconds: seconds } = webhook;
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    const detail = "the timeout value must be between 1 and 30 seconds";
    problems.invalid(path.child("timeoutSeconds"), seconds, detail);
  }
  if (!ratcheting.allowsInvalidSelectors) checkSelectors(webhook, path, problems);
  choice(webhook.reinvocationPolicy, "reinvocationPolicy", reinvocationPolicies);
  checkClientConfig(webhook.clientConfig, path.child("clientConfig"), problems);
  if (ratcheting.skipsMatchConditions) return;
  checkMatchConditions(webhook.matchConditions ?? [], path.child("matchConditions"), {
    problems,
    scope: { authorizer: true },
  });
}

function checkSelectors(webhook: Webhook, path: Path, problems: Problems): void {
  const { namespaceSelector, objectSelector } = webhook;
  checkLabelSelector(namespaceSelector, path.child("namespaceSelector"), problems);
  checkLabelSelector(objectSelector, path.child("objectSelector"), problems);
}

function checkFullyQualifiedName(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path);
  const messages = isDns1123Subdomain(name);
  if (messages.length > 0) return problems.invalid(path, name, messages.join(","));
  if (name.split(".").length >= 3) return;
  const detail = "should be a domain with at least three segments separated by dots";
  problems.invalid(path, name, detail);
}

function checkReviewVersions(
  versions: readonly string[],
  path: Path,
  { problems, ratcheting }: Check,
): void {
  const known = reviewVersions.join(", ");
  if (versions.length === 0) return problems.required(path, `must specify one of ${known}`);
  const repeated = duplicateIndexes(versions, (version) => version);
  for (const [index, version] of versions.entries()) {
    const itemPath = path.index(index);
    if (repeated.has(index)) problems.invalid(itemPath, version, "duplicate version");
    else {
      for (const message of isDns1035Label(version)) problems.invalid(itemPath, version, message);
    }
  }
  if (ratcheting.allowsUnsupportedReviews) return;
  if (versions.some((version) => reviewVersions.includes(version))) return;
  problems.invalid(path, versions, `must include at least one of ${known}`);
}
