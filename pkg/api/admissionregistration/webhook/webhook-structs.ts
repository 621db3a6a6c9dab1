import {
  required,
  int32,
  list,
  named,
  nullablePointer,
  pointer,
  value,
  string,
  structs,
  mergedBy,
} from "#schema";
import { labelSelector, objectMeta } from "#meta";
import { webhookClientConfigOf } from "../../webhook-client.ts";
import { matchConditionOf, type Version } from "../policy/policy-structs.ts";
import { ruleWithOperations } from "../rule.ts";

const sideEffects = ["Unknown", "None", "Some", "NoneOnDryRun"];
const sideEffectsDoc =
  "Side effects of calls. One of None, NoneOnDryRun (none for dry-run requests). In v1beta1, " +
  "also Some and Unknown, the default there: matching requests with dryRun are then " +
  "rejected. Required in v1.";
const reviewVersionsDoc =
  "Versions of AdmissionReview that the webhook accepts, in order of preference. The API " +
  "server sends the first that it supports: v1 or v1beta1. Required in v1; in v1beta1, it " +
  "defaults to v1beta1.";

/** Leading fields that validating and mutating webhooks share, in the order of Go's structs. */
function leadingFields(version: "v1" | "v1beta1") {
  const clientConfig = webhookClientConfigOf(structs(`api/admissionregistration/${version}`));
  return {
    name: required(
      1,
      string,
      "Fully qualified name of the webhook, with at least three segments, for example " +
        "`policy.example.com`. Unique within the configuration.",
    ),
    clientConfig: required(2, clientConfig, "Connection to the webhook: address and CA bundle."),
    rules: value(
      3,
      list(ruleWithOperations),
      "Operations and resources for which the webhook is called, if any of the rules matches. " +
        "Webhook configurations and admission policies are never sent to webhooks.",
      {
        listType: "atomic",
      },
    ),
    failurePolicy: pointer(
      4,
      named(`${version}.FailurePolicyType`, "Ignore", "Fail"),
      "Handling of errors and timeouts of calls: one of Ignore (continue without the webhook), " +
        "Fail (deny the request). Defaults to Fail in v1, to Ignore in v1beta1.",
      { default: version === "v1" ? "Fail" : "Ignore" },
    ),
    matchPolicy: pointer(
      9,
      named(`${version}.MatchPolicyType`, "Exact", "Equivalent"),
      "Matching of requests through other groups or versions of a resource. One of Exact (only " +
        "those that the rules list), Equivalent (any; the object is converted). Defaults to " +
        "Equivalent in v1, to Exact in v1beta1.",
      { default: version === "v1" ? "Equivalent" : "Exact" },
    ),
    namespaceSelector: pointer(
      5,
      labelSelector,
      "Label query over the namespace of the object, or over the object if it is a Namespace. " +
        "Other cluster-scoped objects always match. Defaults to {}, which matches everything.",
      {
        default: {},
      },
    ),
  } as const;
}

function objectSelector(number: number) {
  return pointer(
    number,
    labelSelector,
    "Label query over object and oldObject, one of which must match. Only for opt-in webhooks, " +
      "since users can set labels. Defaults to {}, which matches everything.",
    {
      default: {},
    },
  );
}

function matchConditions(number: number, version: Version) {
  const doc =
    "CEL conditions that must all be true for the webhook to be called, at most 64. If one is " +
    "false, the webhook is skipped.";
  return value(number, list(matchConditionOf(version)), doc, mergedBy("name"));
}

/** Fields after objectSelector that both kinds of webhooks share, in the order of Go's structs. */
const trailingFields = {
  sideEffects: nullablePointer(6, named("v1.SideEffectClass", ...sideEffects), sideEffectsDoc),
  timeoutSeconds: pointer(
    7,
    int32,
    "Timeout of a call in seconds, 1 to 30, after which failurePolicy applies. Defaults to 10 " +
      "in v1, to 30 in v1beta1.",
    { default: 10 },
  ),
  admissionReviewVersions: required(8, list(string), reviewVersionsDoc, { listType: "atomic" }),
} as const;

const betaFields = {
  sideEffects: pointer(6, named("v1beta1.SideEffectClass", ...sideEffects), sideEffectsDoc, {
    default: "Unknown",
  }),
  timeoutSeconds: pointer(
    7,
    int32,
    "Timeout of a call in seconds, 1 to 30, after which failurePolicy applies. Defaults to 10 " +
      "in v1, to 30 in v1beta1.",
    { default: 30 },
  ),
  admissionReviewVersions: value(8, list(string), reviewVersionsDoc, {
    listType: "atomic",
    default: ["v1beta1"],
  }),
} as const;

function reinvocationPolicy(version: Version) {
  return pointer(
    10,
    named(`${version}.ReinvocationPolicyType`, "Never", "IfNeeded"),
    "Reinvocation of the webhook: one of Never, IfNeeded (called again if later plugins change " +
      "the object; must be idempotent). Defaults to Never.",
    { default: "Never", openApi: { enum: false } },
  );
}

const v1 = structs("api/admissionregistration/v1");
const v1beta1 = structs("api/admissionregistration/v1beta1");
const webhookDoc = "Admission webhook and the requests to which it applies.";
const webhooksDoc = "Admission webhooks, with unique names.";
const webhookList = { ...mergedBy("name"), protoName: "Webhooks" };
const metadata = value(1, objectMeta, "Standard object metadata.");
const validatingDoc =
  "ValidatingWebhookConfiguration registers admission webhooks that accept or reject requests " +
  "without changing their objects.";
const mutatingDoc =
  "MutatingWebhookConfiguration registers admission webhooks that can change the objects of " +
  "requests. They are called one after another, before validating webhooks.";

const latestValidating = v1("ValidatingWebhook", webhookDoc, {
  ...leadingFields("v1"),
  objectSelector: objectSelector(10),
  ...trailingFields,
  matchConditions: matchConditions(11, "v1"),
});

const latestMutating = v1("MutatingWebhook", webhookDoc, {
  ...leadingFields("v1"),
  objectSelector: objectSelector(11),
  ...trailingFields,
  reinvocationPolicy: reinvocationPolicy("v1"),
  matchConditions: matchConditions(12, "v1"),
});

export const validatingWebhookConfigurationV1 = v1(
  "ValidatingWebhookConfiguration",
  validatingDoc,
  { metadata, webhooks: value(2, list(latestValidating), webhooksDoc, webhookList) },
);

export const mutatingWebhookConfigurationV1 = v1("MutatingWebhookConfiguration", mutatingDoc, {
  metadata,
  webhooks: value(2, list(latestMutating), webhooksDoc, webhookList),
});

const betaValidating = v1beta1("ValidatingWebhook", webhookDoc, {
  ...leadingFields("v1beta1"),
  objectSelector: objectSelector(10),
  ...betaFields,
  matchConditions: matchConditions(11, "v1beta1"),
});

const betaMutating = v1beta1("MutatingWebhook", webhookDoc, {
  ...leadingFields("v1beta1"),
  objectSelector: objectSelector(11),
  ...betaFields,
  reinvocationPolicy: reinvocationPolicy("v1beta1"),
  matchConditions: matchConditions(12, "v1beta1"),
});

/** Served until 1.21; still decodable. */
export const validatingWebhookConfigurationV1beta1 = v1beta1(
  "ValidatingWebhookConfiguration",
  validatingDoc,
  { metadata, webhooks: value(2, list(betaValidating), webhooksDoc, webhookList) },
);

export const mutatingWebhookConfigurationV1beta1 = v1beta1(
  "MutatingWebhookConfiguration",
  mutatingDoc,
  { metadata, webhooks: value(2, list(betaMutating), webhooksDoc, webhookList) },
);
