/**
 * CustomResourceDefinition v1beta1: no longer served, but kube-apiserver stores definitions in it.
 * Fields that all versions share may be set once in the spec instead of in each version.
 */
import {
  required,
  bool,
  type Infer,
  int32,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectMeta } from "#meta";
import { webhookClientConfigOf } from "../webhook-client.ts";
import { type CustomResourceDefinition, definitionParts } from "./definition-structs.ts";

const v1beta1 = structs("apiextensions-apiserver/pkg/apis/apiextensions/v1beta1");
const atomic = { listType: "atomic" } as const;
const { names, validation, subresources, selectableField, status } = definitionParts;

const columnDefinition = v1beta1(
  "CustomResourceColumnDefinition",
  "Column to return in tables of custom objects, as for `kubectl get`.",
  {
    name: required(1, string, "Human-readable name of the column."),
    type: required(
      2,
      string,
      "OpenAPI type of the column: one of boolean, date, integer, number, string.",
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
    JSONPath: required(
      6,
      string,
      "JSON path of the value in each object, for example `.spec.size`.",
    ),
  },
);

const conversion = v1beta1(
  "CustomResourceConversion",
  "Conversion of custom objects between the versions of a resource.",
  {
    strategy: required(
      1,
      named("v1beta1.ConversionStrategyType", "None", "Webhook"),
      "Conversion strategy. One of None (only apiVersion is changed), Webhook (the API server " +
        "calls a webhook).",
    ),
    webhookClientConfig: pointer(
      2,
      webhookClientConfigOf(v1beta1),
      "Connection to the webhook: address and CA bundle. Required for strategy Webhook.",
    ),
    conversionReviewVersions: value(
      3,
      list(string),
      "Versions of ConversionReview that the webhook accepts, in order of preference.",
      atomic,
    ),
  },
);

/**
 * Fields that v1beta1 allows both per version and once for all versions.
 * @param numbers Protobuf numbers of schema, subresources, columns and selectableFields
 */
function versionFields(numbers: readonly [number, number, number, number]) {
  const [schema, more, columns, selectable] = numbers;
  return {
    schema: pointer(schema, validation, "Schema for validation, pruning and defaulting."),
    subresources: pointer(more, subresources, "Subresources to serve for the custom objects."),
    columns: value(
      columns,
      list(columnDefinition),
      "Columns to return in tables, as for `kubectl get`, besides the name.",
      atomic,
    ),
    selectableFields: value(
      selectable,
      list(selectableField),
      "Fields that can be used in field selectors.",
      atomic,
    ),
  };
}

const perVersion = versionFields([4, 5, 6, 9]);
const topLevel = versionFields([5, 6, 8, 11]);

const version = v1beta1("CustomResourceDefinitionVersion", "Version of a custom resource.", {
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
  schema: perVersion.schema,
  subresources: perVersion.subresources,
  additionalPrinterColumns: perVersion.columns,
  deprecated: value(
    7,
    bool,
    "Whether the version is deprecated: responses then include a warning. Defaults to false.",
  ),
  deprecationWarning: pointer(
    8,
    string,
    "Warning to return instead of the default one. Requires deprecated.",
  ),
  selectableFields: perVersion.selectableFields,
});

const spec = v1beta1(
  "CustomResourceDefinitionSpec",
  "Desired state of a CustomResourceDefinition.",
  {
    group: required(1, string, "API group of the custom resource. Immutable."),
    version: value(2, string, "Name of the first version. Optional if versions is set."),
    names: required(3, names, "Resource and kind names of the custom resource."),
    scope: required(
      4,
      named("v1beta1.ResourceScope", "Cluster", "Namespaced"),
      "Scope of the custom resource: one of Cluster, Namespaced.",
    ),
    validation: topLevel.schema,
    subresources: topLevel.subresources,
    versions: value(7, list(version), "Versions of the custom resource.", atomic),
    additionalPrinterColumns: topLevel.columns,
    conversion: pointer(
      9,
      conversion,
      "Conversion of objects between the versions. Defaults to strategy None.",
      {
        default: { strategy: "None" },
      },
    ),
    preserveUnknownFields: pointer(
      10,
      bool,
      "Whether fields that the schema does not specify are preserved. Defaults to true.",
      {
        default: true,
      },
    ),
    selectableFields: topLevel.selectableFields,
  },
);

export const customResourceDefinitionV1beta1 = v1beta1(
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
    status: value(3, status, "Accepted names, stored versions and conditions. Read-only."),
  },
);

type DefinitionV1beta1 = Infer<typeof customResourceDefinitionV1beta1>;
type SpecV1beta1 = DefinitionV1beta1["spec"];
type VersionV1beta1 = NonNullable<SpecV1beta1["versions"]>[number];
type Version = NonNullable<CustomResourceDefinition["spec"]["versions"]>[number];

export function definitionFromV1beta1({ metadata, spec: old, status: state }: DefinitionV1beta1) {
  const { group, names: definitionNames, scope, version: firstVersion = "", versions = [] } = old;
  const all =
    versions.length > 0 ? versions : [{ name: firstVersion, served: true, storage: true }];
  const { preserveUnknownFields } = old;
  return {
    metadata,
    spec: {
      group,
      names: definitionNames,
      scope: scope === "" ? "Namespaced" : scope,
      versions: all.map((each) => versionOf(each, old)),
      conversion: conversionOf(old.conversion),
      ...(preserveUnknownFields ? { preserveUnknownFields } : {}),
    },
    status: state,
  };
}

function versionOf(each: VersionV1beta1, all: SpecV1beta1): Version {
  const { additionalPrinterColumns, ...rest } = each;
  const schema = each.schema ?? all.validation;
  const subresources = each.subresources ?? all.subresources;
  const columns = additionalPrinterColumns ?? all.additionalPrinterColumns;
  const selectableFields = each.selectableFields ?? all.selectableFields;
  return {
    ...rest,
    ...(schema === undefined ? {} : { schema }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(columns === undefined
      ? {}
      : {
          additionalPrinterColumns: columns.map(({ JSONPath: jsonPath, ...column }) => {
            return { ...column, jsonPath };
          }),
        }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
}

function conversionOf(old: SpecV1beta1["conversion"]) {
  const { strategy = "None", webhookClientConfig: clientConfig } = old ?? {};
  if (strategy !== "Webhook") return { strategy };
  const { conversionReviewVersions = ["v1beta1"] } = old ?? {};
  const webhook = {
    ...(clientConfig === undefined ? {} : { clientConfig }),
    conversionReviewVersions,
  };
  return { strategy, webhook };
}
