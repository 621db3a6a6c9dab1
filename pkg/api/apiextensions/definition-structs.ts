import {
  always,
  bool,
  type Infer,
  int32,
  lazy,
  list,
  named,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { objectMeta, rawExtension, time } from "#meta";
import { status } from "../meta/index.ts";
import { webhookClientConfigOf } from "../webhook-client.ts";
import type { JsonSchema } from "#structural";
import { jsonSchemaProps } from "./json-schema.ts";

const v1 = structs("apiextensions-apiserver/pkg/apis/apiextensions/v1");
const atomic = { listType: "atomic" } as const;

const conversionRequest = v1("ConversionRequest", "Objects to convert.", {
  uid: always(1, string, "Identifies the request; the response repeats it."),
  desiredAPIVersion: always(2, string, "Group and version to convert to."),
  objects: always(3, list(rawExtension), "The objects.", atomic),
});

const conversionResponse = v1("ConversionResponse", "Converted objects.", {
  uid: always(1, string, "That of the request."),
  convertedObjects: always(2, list(rawExtension), "The objects, in the order of the request.", {
    ...atomic,
  }),
  result: always(3, status, "Whether it worked, and why not."),
});

export const conversionReview = v1("ConversionReview", "What conversion webhooks get and answer.", {
  request: optional(1, conversionRequest, "What is asked."),
  response: optional(2, conversionResponse, "What is answered."),
});

const columnDefinition = v1("CustomResourceColumnDefinition", "A column of `kubectl get`.", {
  name: always(1, string, "Heading."),
  type: always(2, string, "OpenAPI type: boolean, date, integer, number or string."),
  format: plain(3, string, "OpenAPI format of the type."),
  description: plain(4, string, "What the column shows."),
  priority: plain(5, int32, "0 is always shown, greater ones only with `-o wide`."),
  jsonPath: always(6, string, "Path to the value, as in `.spec.size`."),
});

const webhookConversion = v1("WebhookConversion", "How to call the conversion webhook.", {
  clientConfig: optional(2, webhookClientConfigOf(v1), "Where the calls go."),
  conversionReviewVersions: always(
    3,
    list(string),
    "Versions of ConversionReview that the webhook takes, best first.",
    atomic,
  ),
});

const conversion = v1("CustomResourceConversion", "How objects get from version to version.", {
  strategy: always(
    1,
    named("v1.ConversionStrategyType", "None", "Webhook"),
    "None (only apiVersion changes) or Webhook.",
  ),
  webhook: optional(2, webhookConversion, "How to call the webhook."),
});

const definitionNames = v1("CustomResourceDefinitionNames", "What the resource is called.", {
  plural: always(1, string, "Plural name, in paths; all lower case."),
  singular: plain(2, string, "Singular name; the kind in lower case by default."),
  shortNames: plain(3, list(string), "Short names for the command line.", atomic),
  kind: always(4, string, "Kind, in CamelCase."),
  listKind: plain(5, string, "Kind of lists; the kind plus `List` by default."),
  categories: plain(6, list(string), "Groups of resources that it belongs to, as in `all`.", {
    ...atomic,
  }),
});

const validation = v1("CustomResourceValidation", "What objects look like.", {
  openAPIV3Schema: optional(
    1,
    lazy<JsonSchema>(() => jsonSchemaProps),
    "The schema.",
  ),
});

const statusSubresource = v1("CustomResourceSubresourceStatus", "Has no settings.", {});

const scaleSubresource = v1("CustomResourceSubresourceScale", "Where the numbers are.", {
  specReplicasPath: always(1, string, "Path of the wanted number, below `.spec`."),
  statusReplicasPath: always(2, string, "Path of the observed number, below `.status`."),
  labelSelectorPath: optional(3, string, "Path of the selector in text form."),
});

const subresources = v1("CustomResourceSubresources", "Further endpoints of objects.", {
  status: optional(1, statusSubresource, "Endpoint for the status alone."),
  scale: optional(2, scaleSubresource, "Endpoint for the number of replicas."),
});

const selectableField = v1("SelectableField", "A field for field selectors.", {
  jsonPath: always(1, string, "Path of the field, as in `.spec.color`."),
});

const version = v1("CustomResourceDefinitionVersion", "One version of the resource.", {
  name: always(1, string, "Name, as in v1beta1."),
  served: always(2, bool, "Whether the version is served."),
  storage: always(3, bool, "Whether objects are stored in it; true of exactly one version."),
  deprecated: plain(7, bool, "True = clients are warned."),
  deprecationWarning: optional(8, string, "The warning, instead of a general one."),
  schema: optional(4, validation, "What objects look like."),
  subresources: optional(5, subresources, "Further endpoints of objects."),
  additionalPrinterColumns: plain(6, list(columnDefinition), "Columns of `kubectl get`.", atomic),
  selectableFields: plain(9, list(selectableField), "Fields for field selectors, 8 at most.", {
    ...atomic,
  }),
});

const spec = v1("CustomResourceDefinitionSpec", "What is defined.", {
  group: always(1, string, "API group."),
  names: always(3, definitionNames, "What the resource is called."),
  scope: always(4, named("v1.ResourceScope", "Cluster", "Namespaced"), "Cluster or Namespaced."),
  versions: always(7, list(version), "All versions.", atomic),
  conversion: optional(9, conversion, "How objects get from version to version.", {
    default: { strategy: "None" },
  }),
  preserveUnknownFields: plain(10, bool, "Must be false; schemas say it per field."),
});

const condition = v1("CustomResourceDefinitionCondition", "One thing that holds or does not.", {
  type: always(
    1,
    named(
      "v1.CustomResourceDefinitionConditionType",
      "Established",
      "NamesAccepted",
      "NonStructuralSchema",
      "Terminating",
      "KubernetesAPIApprovalPolicyConformant",
    ),
    "What it is about, as in Established.",
  ),
  status: always(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "True, False or Unknown.",
  ),
  lastTransitionTime: plain(3, time, "When the status last changed."),
  reason: plain(4, string, "Why, in one word for machines."),
  message: plain(5, string, "Why, in words."),
});

const definitionStatus = v1("CustomResourceDefinitionStatus", "What has become of it.", {
  conditions: always(1, list(condition), "What holds.", {
    listType: "map",
    listMapKeys: ["type"],
    required: false,
  }),
  acceptedNames: always(2, definitionNames, "The names in use.", { required: false }),
  storedVersions: always(3, list(string), "Versions in which objects may lie in the store.", {
    ...atomic,
    required: false,
  }),
});

/** What definitions of every version are made of. */
export const definitionParts = {
  names: definitionNames,
  validation,
  subresources,
  selectableField,
  status: definitionStatus,
} as const;

export const customResourceDefinitionV1 = v1(
  "CustomResourceDefinition",
  "Adds a resource to the API.",
  {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: always(2, spec, "What is defined."),
    status: plain(3, definitionStatus, "What has become of it."),
  },
);

export type CustomResourceDefinition = Infer<typeof customResourceDefinitionV1>;
export type DefinitionSpec = CustomResourceDefinition["spec"];
export type DefinitionVersion = NonNullable<DefinitionSpec["versions"]>[number];
export type DefinitionNames = Infer<typeof definitionNames>;
