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
} from "#schema";
import { labelSelector, objectMeta } from "#meta";
import { webhookClientConfigOf } from "../../webhook-client.ts";
import { byName, matchConditionOf, type Version } from "../policy/policy-structs.ts";
import { ruleWithOperations } from "../rule.ts";

const sideEffects = ["Unknown", "None", "Some", "NoneOnDryRun"];
const sideEffectsDoc = "What calls change elsewhere: None, or NoneOnDryRun.";
const reviewVersionsDoc = "Versions of AdmissionReview that the webhook takes, best first.";

/** The fields that webhooks of both sorts begin with, in Go's order, which JSON shows. */
function firstFields(version: "v1" | "v1beta1") {
  const clientConfig = webhookClientConfigOf(structs(`api/admissionregistration/${version}`));
  return {
    name: required(1, string, "Domain-like name, unique in the configuration."),
    clientConfig: required(2, clientConfig, "Where the calls go."),
    rules: value(3, list(ruleWithOperations), "What the webhook is called for: any of these.", {
      listType: "atomic",
    }),
    failurePolicy: pointer(
      4,
      named(`${version}.FailurePolicyType`, "Ignore", "Fail"),
      "What a failing call means: Fail (the request) or Ignore (the webhook).",
      { default: version === "v1" ? "Fail" : "Ignore" },
    ),
    matchPolicy: pointer(
      9,
      named(`${version}.MatchPolicyType`, "Exact", "Equivalent"),
      "Whether the same object under another group or version is meant, too.",
      { default: version === "v1" ? "Equivalent" : "Exact" },
    ),
    namespaceSelector: pointer(5, labelSelector, "Namespaces by label; empty means all.", {
      default: {},
    }),
  } as const;
}

function objectSelector(number: number) {
  return pointer(number, labelSelector, "Objects by label, old or new; empty means all.", {
    default: {},
  });
}

function matchConditions(number: number, version: Version) {
  const doc = "Filters of requests; all must hold for a call.";
  return value(number, list(matchConditionOf(version)), doc, byName);
}

/** Between objectSelector and the fields that only one sort of webhooks has. */
const latestFields = {
  sideEffects: nullablePointer(6, named("v1.SideEffectClass", ...sideEffects), sideEffectsDoc),
  timeoutSeconds: pointer(7, int32, "Seconds to wait for the answer, 1 to 30.", { default: 10 }),
  admissionReviewVersions: required(8, list(string), reviewVersionsDoc, { listType: "atomic" }),
} as const;

const betaFields = {
  sideEffects: pointer(6, named("v1beta1.SideEffectClass", ...sideEffects), sideEffectsDoc, {
    default: "Unknown",
  }),
  timeoutSeconds: pointer(7, int32, "Seconds to wait for the answer, 1 to 30.", { default: 30 }),
  admissionReviewVersions: value(8, list(string), reviewVersionsDoc, {
    listType: "atomic",
    default: ["v1beta1"],
  }),
} as const;

function reinvocationPolicy(version: Version) {
  return pointer(
    10,
    named(`${version}.ReinvocationPolicyType`, "Never", "IfNeeded"),
    "Whether to call again once others have changed the object: Never or IfNeeded.",
    { default: "Never" },
  );
}

const v1 = structs("api/admissionregistration/v1");
const v1beta1 = structs("api/admissionregistration/v1beta1");
const webhookDoc = "A webhook, and when it is called.";
const webhooksDoc = "The webhooks.";
const webhookList = { ...byName, protoName: "Webhooks" } as const;
const metadata = value(1, objectMeta, "Standard object metadata.");
const validatingDoc = "Webhooks that may refuse requests.";
const mutatingDoc = "Webhooks that may change requests.";

const latestValidating = v1("ValidatingWebhook", webhookDoc, {
  ...firstFields("v1"),
  objectSelector: objectSelector(10),
  ...latestFields,
  matchConditions: matchConditions(11, "v1"),
});

const latestMutating = v1("MutatingWebhook", webhookDoc, {
  ...firstFields("v1"),
  objectSelector: objectSelector(11),
  ...latestFields,
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
  ...firstFields("v1beta1"),
  objectSelector: objectSelector(10),
  ...betaFields,
  matchConditions: matchConditions(11, "v1beta1"),
});

const betaMutating = v1beta1("MutatingWebhook", webhookDoc, {
  ...firstFields("v1beta1"),
  objectSelector: objectSelector(11),
  ...betaFields,
  reinvocationPolicy: reinvocationPolicy("v1beta1"),
  matchConditions: matchConditions(12, "v1beta1"),
});

/** Served until 1.21; still known to codecs. */
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
