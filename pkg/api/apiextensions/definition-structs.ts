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
  "Custom objects that the API server asks a conversion webhook to convert.",
  {
    uid: required(1, string, "Identifier of this call. The response must repeat it."),
    desiredAPIVersion: required(
      2,
      string,
      "Group and version to convert to, for example `example.com/v1`.",
    ),
    objects: required(
      3,
      list(rawExtension),
      "Custom objects to convert. They may have different versions.",
      atomic,
    ),
  },
);

const conversionResponse = v1("ConversionResponse", "Result of a conversion webhook.", {
  uid: required(1, string, "UID of the request that is answered."),
  convertedObjects: required(
    2,
    list(rawExtension),
    "Converted objects in the order of the request. Only apiVersion, labels, annotations " +
      "and fields outside metadata may change.",
    {
      ...atomic,
    },
  ),
  result: required(
    3,
    status,
    "Status `Success`, or `Failure` with a message for the client. A failure fails the " +
      "whole request.",
  ),
});

export const conversionReview = v1(
  "ConversionReview",
  "ConversionReview is the body of a call to a conversion webhook: request one way, " +
    "response the other.",
  {
    request: pointer(1, conversionRequest, "Objects to convert. Set by the API server."),
    response: pointer(2, conversionResponse, "Converted objects. Set by the webhook."),
  },
);

const columnDefinition = v1(
  "CustomResourceColumnDefinition",
  "Additional column that `kubectl get` prints for a custom resource.",
  {
    name: required(1, string, "Heading of the column, unique within the version."),
    type: required(
      2,
      string,
      "OpenAPI type of the values: one of boolean, date, integer, number, string. `date` " +
        "prints the time that has passed.",
    ),
    format: value(
      3,
      string,
      "OpenAPI format of the values, for example `int32` or `name`. Optional.",
    ),
    description: value(4, string, "Human-readable description of the column."),
    priority: value(
      5,
      int32,
      "Importance of the column: 0 is always shown, higher ones only with `-o wide`. Defaults to 0.",
    ),
    jsonPath: required(
      6,
      string,
      "JSON path to the value within each object, for example `.spec.size`.",
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
      "Address and trust anchors of the webhook. Required.",
    ),
    conversionReviewVersions: required(
      3,
      list(string),
      "Versions of ConversionReview that the webhook accepts, in order of preference. Must " +
        "include one that the API server supports: v1 or v1beta1.",
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
      "One of None (only apiVersion changes), Webhook (a webhook converts the objects).",
      { openApi: { enum: false } },
    ),
    webhook: pointer(
      2,
      webhookConversion,
      "Webhook to call. Required for strategy Webhook; must be absent for None.",
    ),
  },
);

const definitionNames = v1(
  "CustomResourceDefinitionNames",
  "Names of a custom resource in URLs, objects and tools.",
  {
    plural: required(
      1,
      string,
      "Plural name, lowercase, used in URLs: /apis/<group>/<version>/.../<plural>. The " +
        "definition must be named `<plural>.<group>`. Immutable.",
    ),
    singular: value(
      2,
      string,
      "Singular name, lowercase, accepted by kubectl. Defaults to the kind in lower case.",
    ),
    shortNames: value(3, list(string), "Abbreviations that kubectl accepts, lowercase.", atomic),
    kind: required(
      4,
      string,
      "Kind of the objects in CamelCase, normally singular. Immutable once the resource is " +
        "established.",
    ),
    listKind: value(
      5,
      string,
      "Kind of lists of the objects. Defaults to the kind with suffix `List`.",
    ),
    categories: value(
      6,
      list(string),
      "Groups of resources that the resource belongs to: `all` includes it in `kubectl get all`.",
      {
        ...atomic,
      },
    ),
  },
);

const validation = v1(
  "CustomResourceValidation",
  "Schema for validation, pruning and defaulting of custom objects.",
  {
    openAPIV3Schema: pointer(
      1,
      lazy<JsonSchema>(() => jsonSchemaProps),
      "Structural OpenAPI v3 schema of the objects.",
    ),
  },
);

const statusSubresource = v1(
  "CustomResourceSubresourceStatus",
  "Subresource `status` of a custom resource. It has no settings.",
  {},
);

const scaleSubresource = v1(
  "CustomResourceSubresourceScale",
  "Paths from which the scale subresource of a custom resource is built.",
  {
    specReplicasPath: required(
      1,
      string,
      "JSON path, without array notation, below `.spec` to the desired replica count.",
    ),
    statusReplicasPath: required(
      2,
      string,
      "JSON path, without array notation, below `.status` to the observed replica count. A " +
        "missing value counts as 0.",
    ),
    labelSelectorPath: pointer(
      3,
      string,
      "JSON path below `.spec` or `.status` to the label selector of the pods in string " +
        "form. Required for use with a HorizontalPodAutoscaler.",
    ),
  },
);

const subresources = v1("CustomResourceSubresources", "Subresources to serve for custom objects.", {
  status: pointer(
    1,
    statusSubresource,
    "Enables the subresource `status`: the main endpoint then ignores changes of " +
      "`.status`, and the subresource all others.",
  ),
  scale: pointer(
    2,
    scaleSubresource,
    "Enables the subresource `scale`, which reads and sets the replica count in the form " +
      "of autoscaling/v1 Scale.",
  ),
});

const selectableField = v1(
  "SelectableField",
  "Field of custom objects that field selectors may use.",
  {
    jsonPath: required(
      1,
      string,
      "JSON path to the field, for example `.spec.color`: a string, boolean or integer, " +
        "without array notation and outside metadata. Must be unique.",
    ),
  },
);

const version = v1("CustomResourceDefinitionVersion", "One version of a custom resource.", {
  name: required(
    1,
    string,
    "Name of the version as in URLs, for example `v1beta1`. Unique within the definition.",
  ),
  served: required(2, bool, "Whether the version is available through the API."),
  storage: required(
    3,
    bool,
    "Whether objects are stored in this version. Exactly one version must set it.",
  ),
  deprecated: value(
    7,
    bool,
    "Whether the version is deprecated: requests for it then return a warning. Defaults to false.",
  ),
  deprecationWarning: pointer(
    8,
    string,
    "Warning to return for a deprecated version, at most 256 printable characters. By " +
      "default a generic one that names the version.",
  ),
  schema: pointer(4, validation, "Schema of the objects in this version. Required."),
  subresources: pointer(5, subresources, "Subresources of the objects in this version."),
  additionalPrinterColumns: value(
    6,
    list(columnDefinition),
    "Columns of `kubectl get` beside the name. By default only the age is shown.",
    atomic,
  ),
  selectableFields: value(
    9,
    list(selectableField),
    "Fields that field selectors of list and watch requests may use, at most 8.",
    {
      ...atomic,
    },
  ),
});

const spec = v1("CustomResourceDefinitionSpec", "Desired state of a CustomResourceDefinition.", {
  group: required(1, string, "API group of the resource. Immutable."),
  names: required(3, definitionNames, "Names of the resource and its kind."),
  scope: required(
    4,
    named("v1.ResourceScope", "Cluster", "Namespaced"),
    "Whether objects are cluster-wide or belong to namespaces: one of Cluster, Namespaced. " +
      "Immutable once the resource is established.",
    { openApi: { enum: false } },
  ),
  versions: required(
    7,
    list(version),
    "All versions of the resource. Discovery sorts them by stability and then by number: v10, " +
      "v2, v1beta1, for example.",
    atomic,
  ),
  conversion: pointer(9, conversion, "Conversion between versions. Defaults to strategy None.", {
    default: { strategy: "None" },
  }),
  preserveUnknownFields: value(
    10,
    bool,
    "Must be false. Set x-kubernetes-preserve-unknown-fields in the schema instead.",
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
      "One of Established (the resource is served), NamesAccepted (its names conflict with " +
        "no other resource), NonStructuralSchema, Terminating, " +
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
      "Names under which the resource is served. They may lag behind spec.names in case of a " +
        "conflict.",
      { required: false },
    ),
    storedVersions: required(
      3,
      list(string),
      "Versions in which objects have ever been stored. Remove one only after all its " +
        "objects were migrated; it cannot be dropped from spec.versions before.",
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
  "CustomResourceDefinition adds a resource of your own to the API.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The name must be `<plural>.<group>`.",
    ),
    spec: required(2, spec, "Names, scope, versions and schemas of the resource."),
    status: value(3, definitionStatus, "Accepted names and conditions. Read-only."),
  },
);

export type CustomResourceDefinition = Infer<typeof customResourceDefinitionV1>;
export type DefinitionSpec = CustomResourceDefinition["spec"];
export type DefinitionVersion = NonNullable<DefinitionSpec["versions"]>[number];
export type DefinitionNames = Infer<typeof definitionNames>;
