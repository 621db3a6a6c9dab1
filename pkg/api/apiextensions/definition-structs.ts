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

const conversionRequest = v1(
  "ConversionRequest",
  "Custom objects that a conversion webhook converts.",
  {
    uid: required(1, string, "Identifier of this call, which the response must contain."),
    desiredAPIVersion: required(
      2,
      string,
      "API group and version to convert to, for example `example.com/v1`.",
    ),
    objects: required(
      3,
      list(rawExtension),
      "Custom objects to convert, which can have different versions.",
      atomic,
    ),
  },
);

const conversionResponse = v1("ConversionResponse", "Response of a conversion webhook.", {
  uid: required(1, string, "UID of the request that this responds to."),
  convertedObjects: required(
    2,
    list(rawExtension),
    "Converted objects, in the order of the request. In metadata, only labels and annotations " +
      "may be changed.",
    {
      ...atomic,
    },
  ),
  result: required(
    3,
    status,
    "Result of the conversion: status Success, or Failure with a message, which fails the " +
      "whole request.",
  ),
});

export const conversionReview = v1(
  "ConversionReview",
  "ConversionReview is the body of requests to conversion webhooks and of their responses.",
  {
    request: pointer(
      1,
      conversionRequest,
      "Attributes of the conversion request. Set by the API server.",
    ),
    response: pointer(
      2,
      conversionResponse,
      "Response to the conversion request. Set by the webhook.",
    ),
  },
);

const columnDefinition = v1(
  "CustomResourceColumnDefinition",
  "Column to return in tables of custom objects, as for `kubectl get`.",
  {
    name: required(1, string, "Human-readable name of the column."),
    type: required(
      2,
      string,
      "OpenAPI type of the column: one of boolean, date, integer, number, string. For date, " +
        "the age is shown.",
    ),
    format: value(
      3,
      string,
      "OpenAPI format of the column, for example int32. `name` marks the column of the primary " +
        "identifier.",
    ),
    description: value(4, string, "Human-readable description of the column."),
    priority: value(
      5,
      int32,
      "Relative importance of the column. Columns with a priority other than 0 are only shown " +
        "with `-o wide`. Defaults to 0.",
    ),
    jsonPath: required(
      6,
      string,
      "JSON path of the value in each object, for example `.spec.size`.",
    ),
  },
);

const webhookConversion = v1(
  "WebhookConversion",
  "Webhook that converts custom objects between versions.",
  {
    clientConfig: pointer(
      2,
      webhookClientConfigOf(v1),
      "Connection to the webhook: address and CA bundle. Required.",
    ),
    conversionReviewVersions: required(
      3,
      list(string),
      "Versions of ConversionReview that the webhook accepts, in order of preference. The API " +
        "server sends the first that it supports: v1 or v1beta1.",
      atomic,
    ),
  },
);

const conversion = v1(
  "CustomResourceConversion",
  "Conversion of custom objects between the versions of a resource.",
  {
    strategy: required(
      1,
      named("v1.ConversionStrategyType", "None", "Webhook"),
      "Conversion strategy. One of None (only apiVersion is changed), Webhook (the API server " +
        "calls a webhook).",
      { openApi: { enum: false } },
    ),
    webhook: pointer(
      2,
      webhookConversion,
      "Conversion webhook. Required for strategy Webhook, and not allowed for None.",
    ),
  },
);

const definitionNames = v1(
  "CustomResourceDefinitionNames",
  "Names by which a custom resource is served and used.",
  {
    plural: required(
      1,
      string,
      "Plural name of the resource, all lowercase, used in URLs: " +
        "`/apis/<group>/<version>/.../<plural>`. The name of the definition must be " +
        "`<plural>.<group>`. Immutable.",
    ),
    singular: value(
      2,
      string,
      "Singular name of the resource, all lowercase. Defaults to the lowercased kind.",
    ),
    shortNames: value(
      3,
      list(string),
      "Short names of the resource, all lowercase, for use in `kubectl get <shortname>`.",
      atomic,
    ),
    kind: required(
      4,
      string,
      "Kind of the objects, normally CamelCase and singular. Immutable once the resource is " +
        "established.",
    ),
    listKind: value(5, string, "Kind of lists of the objects. Defaults to `<kind>List`."),
    categories: value(
      6,
      list(string),
      "Categories that the resource belongs to: with `all`, `kubectl get all` includes it.",
      {
        ...atomic,
      },
    ),
  },
);

const validation = v1("CustomResourceValidation", "Validation of custom objects.", {
  openAPIV3Schema: pointer(
    1,
    lazy<JsonSchema>(() => jsonSchemaProps),
    "OpenAPI v3 schema for validation, pruning and defaulting, which must be structural.",
  ),
});

const statusSubresource = v1(
  "CustomResourceSubresourceStatus",
  "Subresource `status` of a custom resource. It has no fields.",
  {},
);

const scaleSubresource = v1(
  "CustomResourceSubresourceScale",
  "Subresource `scale` of a custom resource: paths of the fields that it maps to.",
  {
    specReplicasPath: required(
      1,
      string,
      "JSON path under `.spec`, without array notation, of the desired number of replicas.",
    ),
    statusReplicasPath: required(
      2,
      string,
      "JSON path under `.status`, without array notation, of the observed number of replicas. " +
        "A missing value counts as 0.",
    ),
    labelSelectorPath: pointer(
      3,
      string,
      "JSON path under `.spec` or `.status`, without array notation, of the label selector in " +
        "string form. Required for HorizontalPodAutoscalers.",
    ),
  },
);

const subresources = v1("CustomResourceSubresources", "Subresources of a custom resource.", {
  status: pointer(
    1,
    statusSubresource,
    "Enables the subresource `status`: writes through it only change `.status`, all others " +
      "ignore it.",
  ),
  scale: pointer(
    2,
    scaleSubresource,
    "Enables the subresource `scale`, which serves autoscaling/v1 Scale.",
  ),
});

const selectableField = v1(
  "SelectableField",
  "Field of custom objects that can be used in field selectors.",
  {
    jsonPath: required(
      1,
      string,
      "JSON path of the field, for example `.spec.color`. The field must be a string, boolean " +
        "or integer, neither in an array nor in metadata. Must be unique.",
    ),
  },
);

export const definitionVersion = v1(
  "CustomResourceDefinitionVersion",
  "Version of a custom resource.",
  {
    name: required(
      1,
      string,
      "Name of the version, for example v1beta1: a DNS label, used in URLs. Unique within the " +
        "definition.",
    ),
    served: required(2, bool, "Whether the version is served by the API."),
    storage: required(
      3,
      bool,
      "Whether objects are persisted in this version. Exactly one version must set it to true.",
    ),
    deprecated: value(
      7,
      bool,
      "Whether the version is deprecated: responses then include a warning. Defaults to false.",
    ),
    deprecationWarning: pointer(
      8,
      string,
      "Warning to return instead of the default one, which names the version. At most 256 " +
        "printable characters. Requires deprecated.",
    ),
    schema: pointer(
      4,
      validation,
      "Schema for validation, pruning and defaulting in this version. Required.",
    ),
    subresources: pointer(5, subresources, "Subresources to serve in this version."),
    additionalPrinterColumns: value(
      6,
      list(columnDefinition),
      "Columns to return in tables, as for `kubectl get`, besides the name. Defaults to the age.",
      atomic,
    ),
    selectableFields: value(
      9,
      list(selectableField),
      "Fields that can be used in field selectors, at most 8.",
      {
        ...atomic,
      },
    ),
  },
);

const spec = v1("CustomResourceDefinitionSpec", "Desired state of a CustomResourceDefinition.", {
  group: required(1, string, "API group of the custom resource. Immutable."),
  names: required(3, definitionNames, "Resource and kind names of the custom resource."),
  scope: required(
    4,
    named("v1.ResourceScope", "Cluster", "Namespaced"),
    "Scope of the custom resource: one of Cluster, Namespaced. Immutable once the resource is " +
      "established.",
    { openApi: { enum: false } },
  ),
  versions: required(
    7,
    list(definitionVersion),
    "Versions of the custom resource. Discovery sorts them by stability, then by number, for " +
      "example v10, v2, v1beta1.",
    atomic,
  ),
  conversion: pointer(
    9,
    conversion,
    "Conversion of objects between the versions. Defaults to strategy None.",
    {
      default: { strategy: "None" },
    },
  ),
  preserveUnknownFields: value(
    10,
    bool,
    "Deprecated: must be false. Set x-kubernetes-preserve-unknown-fields in the schema instead.",
  ),
});

const condition = v1(
  "CustomResourceDefinitionCondition",
  "One observed condition of a CustomResourceDefinition.",
  {
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
      "Type of the condition: Established (the resource is served), NamesAccepted (its names " +
        "conflict with no other resource), NonStructuralSchema, Terminating or " +
        "KubernetesAPIApprovalPolicyConformant.",
      { openApi: { enum: false } },
    ),
    status: required(
      2,
      named("v1.ConditionStatus", "True", "False", "Unknown"),
      "Status of the condition: one of True, False, Unknown.",
      { openApi: { enum: false } },
    ),
    lastTransitionTime: value(3, time, "Time at which `status` last changed to another value."),
    reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(5, string, "Human-readable message with details about the last transition."),
  },
);

const definitionStatus = v1(
  "CustomResourceDefinitionStatus",
  "Observed state of a CustomResourceDefinition.",
  {
    conditions: required(
      1,
      list(condition),
      "Latest observed conditions, one entry per condition type.",
      {
        listType: "map",
        listMapKeys: ["type"],
        required: false,
      },
    ),
    acceptedNames: required(
      2,
      definitionNames,
      "Names by which the resource is served. They can differ from spec.names if those " +
        "conflict with another resource.",
      { required: false },
    ),
    storedVersions: required(
      3,
      list(string),
      "Versions in which objects were ever persisted. They cannot be removed from " +
        "spec.versions. Remove a version from this list once all its objects are migrated.",
      {
        ...atomic,
        required: false,
      },
    ),
  },
);

/** Structs shared by the versions of CustomResourceDefinition. */
export const definitionParts = {
  names: definitionNames,
  validation,
  subresources,
  selectableField,
  status: definitionStatus,
} as const;

export const customResourceDefinitionV1 = v1(
  "CustomResourceDefinition",
  "CustomResourceDefinition adds a custom resource to the API, whose objects the API server " +
    "then serves.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The name must be `<plural>.<group>`.",
    ),
    spec: required(2, spec, "Group, names, scope, versions and schemas of the custom resource."),
    status: value(
      3,
      definitionStatus,
      "Accepted names, stored versions and conditions. Read-only.",
    ),
  },
);

export type CustomResourceDefinition = Infer<typeof customResourceDefinitionV1>;
export type DefinitionSpec = CustomResourceDefinition["spec"];
export type DefinitionVersion = NonNullable<DefinitionSpec["versions"]>[number];
export type DefinitionNames = Infer<typeof definitionNames>;
