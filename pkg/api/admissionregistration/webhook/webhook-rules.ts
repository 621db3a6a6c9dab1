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
import { repeatedPlaces } from "../../strategy.ts";

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
const harmless = ["None", "NoneOnDryRun"];
const allSideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];

/** Ratcheting: checks that an update skips because the old object already violates them. */
interface Leniency {
  readonly sideEffects: readonly string[];
  readonly anyReviewVersion: boolean;
  readonly sameNames: boolean;
  readonly sameConditions: boolean;
  readonly anySelector: boolean;
}

const strict: Leniency = {
  sideEffects: harmless,
  anyReviewVersion: false,
  sameNames: false,
  sameConditions: false,
  anySelector: false,
};

export function checkWebhooks({ webhooks = [] }: Configuration, problems: Problems): void {
  checkAll(webhooks, problems, strict);
}

/** Validates an update, except rules that the old object already violates. */
export function checkWebhooksUpdate(
  { webhooks = [] }: Configuration,
  { webhooks: old = [] }: Configuration,
  problems: Problems,
): void {
  const names = old.map(({ name }) => name);
  const areHarmless = old.every(({ sideEffects }) => harmless.includes(sideEffects ?? ""));
  checkAll(webhooks, problems, {
    sideEffects: areHarmless ? harmless : allSideEffects,
    anyReviewVersion: old.some(({ admissionReviewVersions }) => {
      const versions = admissionReviewVersions ?? [];
      return versions.length > 0 && !versions.some((version) => reviewVersions.includes(version));
    }),
    sameNames: new Set(names).size < names.length,
    sameConditions: deepEqual(
      webhooks.map(({ matchConditions = [] }) => matchConditions),
      old.map(({ matchConditions = [] }) => matchConditions),
    ),
    anySelector: old.some(hasBadSelector),
  });
}

function hasBadSelector(webhook: Webhook): boolean {
  const problems = new Problems();
  checkSelectors(webhook, FieldPath.root, problems);
  return !problems.empty;
}

function checkAll(webhooks: readonly Webhook[], problems: Problems, leniency: Leniency): void {
  const names = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const path = FieldPath.of("webhooks").index(index);
    checkWebhook(webhook, path, { problems, leniency });
    const versions = webhook.admissionReviewVersions ?? [];
    checkReviewVersions(versions, path.child("admissionReviewVersions"), { problems, leniency });
    const { name } = webhook;
    if (!leniency.sameNames && name !== "" && names.has(name)) {
      problems.duplicate(path.child("name"), name);
    }
    names.add(name);
  }
}

interface Check {
  readonly problems: Problems;
  readonly leniency: Leniency;
}

function checkWebhook(webhook: Webhook, path: Path, { problems, leniency }: Check): void {
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
    const detail = `must specify one of ${leniency.sideEffects.join(", ")}`;
    problems.required(path.child("sideEffects"), detail);
  } else choice(sideEffects, "sideEffects", leniency.sideEffects);
  const { timeoutSeconds: seconds } = webhook;
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    const detail = "the timeout value must be between 1 and 30 seconds";
    problems.invalid(path.child("timeoutSeconds"), seconds, detail);
  }
  if (!leniency.anySelector) checkSelectors(webhook, path, problems);
  choice(webhook.reinvocationPolicy, "reinvocationPolicy", reinvocationPolicies);
  checkClientConfig(webhook.clientConfig, path.child("clientConfig"), problems);
  if (leniency.sameConditions) return;
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
  { problems, leniency }: Check,
): void {
  const known = reviewVersions.join(", ");
  if (versions.length === 0) return problems.required(path, `must specify one of ${known}`);
  const repeated = repeatedPlaces(versions, (version) => version);
  for (const [index, version] of versions.entries()) {
    const itemPath = path.index(index);
    if (repeated.has(index)) problems.invalid(itemPath, version, "duplicate version");
    else {
      for (const message of isDns1035Label(version)) problems.invalid(itemPath, version, message);
    }
  }
  if (leniency.anyReviewVersion) return;
  if (versions.some((version) => reviewVersions.includes(version))) return;
  problems.invalid(path, versions, `must include at least one of ${known}`);
}
