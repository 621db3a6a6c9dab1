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
const sideEffectsDoc =
  "Whether calls have side effects outside the object. One of None, NoneOnDryRun (none " +
  "for dry-run requests). Requests with dryRun are rejected unless one of these is " +
  "declared. Required in v1; Some and Unknown only in v1beta1, where Unknown is the " +
  "default.";
const reviewVersionsDoc =
  "Versions of AdmissionReview that the webhook accepts, in order of preference. At " +
  "least one must be supported by the API server: v1 or v1beta1. Required in v1; in " +
  "v1beta1 it defaults to v1beta1.";

/** Leading fields that validating and mutating webhooks share, in the order of Go's structs. */
function leadingFields(version: "v1" | "v1beta1") {
  const clientConfig = webhookClientConfigOf(structs(`api/admissionregistration/${version}`));
  return {
    name: required(
      1,
      string,
      "Name of the webhook: a fully qualified name with at least three segments, unique " +
        "within the configuration.",
    ),
    clientConfig: required(2, clientConfig, "Address and trust anchors of the webhook."),
    rules: value(
      3,
      list(ruleWithOperations),
      "Operations and resources for which the webhook is called; any of the rules is enough. " +
        "Admission configuration itself is never sent to webhooks.",
      {
        listType: "atomic",
      },
    ),
    failurePolicy: pointer(
      4,
      named(`${version}.FailurePolicyType`, "Ignore", "Fail"),
      "What happens when the webhook cannot be called or times out: one of Ignore (continue " +
        "without it), Fail (deny the request). Defaults to Fail in v1, to Ignore in v1beta1.",
      { default: version === "v1" ? "Fail" : "Ignore" },
    ),
    matchPolicy: pointer(
      9,
      named(`${version}.MatchPolicyType`, "Exact", "Equivalent"),
      "Whether requests through another group or version match as well. One of Exact (as " +
        "listed in the rules), Equivalent (any version; the object is converted). Defaults to " +
        "Equivalent in v1, to Exact in v1beta1.",
      { default: version === "v1" ? "Equivalent" : "Exact" },
    ),
    namespaceSelector: pointer(
      5,
      labelSelector,
      "Selects requests by labels of the object's namespace, or of the object itself if it " +
        "is a namespace. Other cluster-scoped objects always match. Defaults to {}, which " +
        "matches everything.",
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
    "Selects requests by labels of the new or old object; one match is enough. Only for " +
      "opt-in webhooks, since clients set labels. Defaults to {}, which matches everything.",
    {
      default: {},
    },
  );
}

function matchConditions(number: number, version: Version) {
  const doc =
    "Further conditions on the request in CEL, at most 64; all must be true for a call. If " +
    "one is false, the webhook is skipped.";
  return value(number, list(matchConditionOf(version)), doc, byName);
}

/** Fields after objectSelector that both kinds of webhooks share, in the order of Go's structs. */
const trailingFields = {
  sideEffects: nullablePointer(6, named("v1.SideEffectClass", ...sideEffects), sideEffectsDoc),
  timeoutSeconds: pointer(
    7,
    int32,
    "Timeout of a call, in seconds: 1 to 30. Afterwards failurePolicy applies. Defaults to " +
      "10 in v1, to 30 in v1beta1.",
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
    "Timeout of a call, in seconds: 1 to 30. Afterwards failurePolicy applies. Defaults to " +
      "10 in v1, to 30 in v1beta1.",
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
    "Whether the webhook is called again after later plugins have changed the object: one " +
      "of Never, IfNeeded (the webhook must be idempotent). Defaults to Never.",
    { default: "Never", openApi: { enum: false } },
  );
}

const v1 = structs("api/admissionregistration/v1");
const v1beta1 = structs("api/admissionregistration/v1beta1");
const webhookDoc = "Admission webhook, and the requests for which it is called.";
const webhooksDoc = "Webhooks of the configuration, with unique names.";
const webhookList = { ...byName, protoName: "Webhooks" } as const;
const metadata = value(1, objectMeta, "Standard object metadata.");
const validatingDoc =
  "ValidatingWebhookConfiguration registers webhooks that accept or reject requests " +
  "without changing the object.";
const mutatingDoc =
  "MutatingWebhookConfiguration registers webhooks that may change objects on admission. " +
  "They are called in order, before validating ones.";

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
