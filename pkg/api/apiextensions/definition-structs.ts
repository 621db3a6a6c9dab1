import {
  required,
  bool,
  type Infer,
  int32,
  lazy,
  list,
  named,
  pointer,
  value,
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
  uid: required(1, string, "Identifies the request; the response repeats it."),
  desiredAPIVersion: required(2, string, "Group and version to convert to."),
  objects: required(3, list(rawExtension), "The objects.", atomic),
});

const conversionResponse = v1("ConversionResponse", "Converted objects.", {
  uid: required(1, string, "That of the request."),
  convertedObjects: required(2, list(rawExtension), "The objects, in the order of the request.", {
    ...atomic,
  }),
  result: required(3, status, "Whether it worked, and why not."),
});

export const conversionReview = v1("ConversionReview", "What conversion webhooks get and answer.", {
  request: pointer(1, conversionRequest, "What is asked."),
  response: pointer(2, conversionResponse, "What is answered."),
});

const columnDefinition = v1("CustomResourceColumnDefinition", "A column of `kubectl get`.", {
  name: required(1, string, "Heading."),
  type: required(2, string, "OpenAPI type: boolean, date, integer, number or string."),
  format: value(3, string, "OpenAPI format of the type."),
  description: value(4, string, "What the column shows."),
  priority: value(5, int32, "0 is always shown, greater ones only with `-o wide`."),
  jsonPath: required(6, string, "Path to the value, as in `.spec.size`."),
});

const webhookConversion = v1("WebhookConversion", "How to call the conversion webhook.", {
  clientConfig: pointer(2, webhookClientConfigOf(v1), "Where the calls go."),
  conversionReviewVersions: required(
    3,
    list(string),
    "Versions of ConversionReview that the webhook takes, best first.",
    atomic,
  ),
});

const conversion = v1("CustomResourceConversion", "How objects get from version to version.", {
  strategy: required(
    1,
    named("v1.ConversionStrategyType", "None", "Webhook"),
    "None (only apiVersion changes) or Webhook.",
  ),
  webhook: pointer(2, webhookConversion, "How to call the webhook."),
});

const definitionNames = v1("CustomResourceDefinitionNames", "What the resource is called.", {
  plural: required(1, string, "Plural name, in paths; all lower case."),
  singular: value(2, string, "Singular name; the kind in lower case by default."),
  shortNames: value(3, list(string), "Short names for the command line.", atomic),
  kind: required(4, string, "Kind, in CamelCase."),
  listKind: value(5, string, "Kind of lists; the kind plus `List` by default."),
  categories: value(6, list(string), "Groups of resources that it belongs to, as in `all`.", {
    ...atomic,
  }),
});

const validation = v1("CustomResourceValidation", "What objects look like.", {
  openAPIV3Schema: pointer(
    1,
    lazy<JsonSchema>(() => jsonSchemaProps),
    "The schema.",
  ),
});

const statusSubresource = v1("CustomResourceSubresourceStatus", "Has no settings.", {});

const scaleSubresource = v1("CustomResourceSubresourceScale", "Where the numbers are.", {
  specReplicasPath: required(1, string, "Path of the wanted number, below `.spec`."),
  statusReplicasPath: required(2, string, "Path of the observed number, below `.status`."),
  labelSelectorPath: pointer(3, string, "Path of the selector in text form."),
});

const subresources = v1("CustomResourceSubresources", "Further endpoints of objects.", {
  status: pointer(1, statusSubresource, "Endpoint for the status alone."),
  scale: pointer(2, scaleSubresource, "Endpoint for the number of replicas."),
});

const selectableField = v1("SelectableField", "A field for field selectors.", {
  jsonPath: required(1, string, "Path of the field, as in `.spec.color`."),
});

const version = v1("CustomResourceDefinitionVersion", "One version of the resource.", {
  name: required(1, string, "Name, as in v1beta1."),
  served: required(2, bool, "Whether the version is served."),
  storage: required(3, bool, "Whether objects are stored in it; true of exactly one version."),
  deprecated: value(7, bool, "True = clients are warned."),
  deprecationWarning: pointer(8, string, "The warning, instead of a general one."),
  schema: pointer(4, validation, "What objects look like."),
  subresources: pointer(5, subresources, "Further endpoints of objects."),
  additionalPrinterColumns: value(6, list(columnDefinition), "Columns of `kubectl get`.", atomic),
  selectableFields: value(9, list(selectableField), "Fields for field selectors, 8 at most.", {
    ...atomic,
  }),
});

const spec = v1("CustomResourceDefinitionSpec", "What is defined.", {
  group: required(1, string, "API group."),
  names: required(3, definitionNames, "What the resource is called."),
  scope: required(4, named("v1.ResourceScope", "Cluster", "Namespaced"), "Cluster or Namespaced."),
  versions: required(7, list(version), "All versions.", atomic),
  conversion: pointer(9, conversion, "How objects get from version to version.", {
    default: { strategy: "None" },
  }),
  preserveUnknownFields: value(10, bool, "Must be false; schemas say it per field."),
});

const condition = v1("CustomResourceDefinitionCondition", "One thing that holds or does not.", {
  type: required(
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
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "True, False or Unknown.",
  ),
  lastTransitionTime: value(3, time, "When the status last changed."),
  reason: value(4, string, "Why, in one word for machines."),
  message: value(5, string, "Why, in words."),
});

const definitionStatus = v1("CustomResourceDefinitionStatus", "What has become of it.", {
  conditions: required(1, list(condition), "What holds.", {
    listType: "map",
    listMapKeys: ["type"],
    required: false,
  }),
  acceptedNames: required(2, definitionNames, "The names in use.", { required: false }),
  storedVersions: required(3, list(string), "Versions in which objects may lie in the store.", {
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
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, spec, "What is defined."),
    status: value(3, definitionStatus, "What has become of it."),
  },
);

export type CustomResourceDefinition = Infer<typeof customResourceDefinitionV1>;
export type DefinitionSpec = CustomResourceDefinition["spec"];
export type DefinitionVersion = NonNullable<DefinitionSpec["versions"]>[number];
export type DefinitionNames = Infer<typeof definitionNames>;
