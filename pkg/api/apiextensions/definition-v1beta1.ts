/**
 * Definitions as kube-apiserver stores them: in v1beta1, which nobody serves any more. What all
 * versions have in common may stand beside them there, instead of in each.
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

const columnDefinition = v1beta1("CustomResourceColumnDefinition", "A column of `kubectl get`.", {
  name: required(1, string, "Heading."),
  type: required(2, string, "OpenAPI type: boolean, date, integer, number or string."),
  format: value(3, string, "OpenAPI format of the type."),
  description: value(4, string, "What the column shows."),
  priority: value(5, int32, "0 is always shown, greater ones only with `-o wide`."),
  JSONPath: required(6, string, "Path to the value, as in `.spec.size`."),
});

const conversion = v1beta1("CustomResourceConversion", "How objects change versions.", {
  strategy: required(
    1,
    named("v1beta1.ConversionStrategyType", "None", "Webhook"),
    "None (only apiVersion changes) or Webhook.",
  ),
  webhookClientConfig: pointer(2, webhookClientConfigOf(v1beta1), "Where the calls go."),
  conversionReviewVersions: value(3, list(string), "Versions that the webhook takes.", atomic),
});

/** What stands in one version, or beside all of them. */
function shared(numbers: readonly [number, number, number, number]) {
  const [schema, more, columns, selectable] = numbers;
  return {
    schema: pointer(schema, validation, "What objects look like."),
    subresources: pointer(more, subresources, "Further endpoints of objects."),
    columns: value(columns, list(columnDefinition), "Columns of `kubectl get`.", atomic),
    selectableFields: value(selectable, list(selectableField), "Fields for selectors.", atomic),
  };
}

const ofVersion = shared([4, 5, 6, 9]);
const ofAll = shared([5, 6, 8, 11]);

const version = v1beta1("CustomResourceDefinitionVersion", "One version of the resource.", {
  name: required(1, string, "Name, as in v1beta1."),
  served: required(2, bool, "Whether the version is served."),
  storage: required(3, bool, "Whether objects are stored in it; true of exactly one version."),
  schema: ofVersion.schema,
  subresources: ofVersion.subresources,
  additionalPrinterColumns: ofVersion.columns,
  deprecated: value(7, bool, "True = clients are warned."),
  deprecationWarning: pointer(8, string, "The warning, instead of a general one."),
  selectableFields: ofVersion.selectableFields,
});

const spec = v1beta1("CustomResourceDefinitionSpec", "What is defined.", {
  group: required(1, string, "API group."),
  version: value(2, string, "The only version, or the first of them."),
  names: required(3, names, "What the resource is called."),
  scope: required(4, named("v1beta1.ResourceScope", "Cluster", "Namespaced"), "Where objects are."),
  validation: ofAll.schema,
  subresources: ofAll.subresources,
  versions: value(7, list(version), "All versions.", atomic),
  additionalPrinterColumns: ofAll.columns,
  conversion: pointer(9, conversion, "How objects get from version to version.", {
    default: { strategy: "None" },
  }),
  preserveUnknownFields: pointer(10, bool, "Whether fields that no schema knows stay.", {
    default: true,
  }),
  selectableFields: ofAll.selectableFields,
});

export const customResourceDefinitionV1beta1 = v1beta1(
  "CustomResourceDefinition",
  "Adds a resource to the API.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, spec, "What is defined."),
    status: value(3, status, "What has become of it."),
  },
);

type Old = Infer<typeof customResourceDefinitionV1beta1>;
type OldSpec = Old["spec"];
type OldVersion = NonNullable<OldSpec["versions"]>[number];
type Version = NonNullable<CustomResourceDefinition["spec"]["versions"]>[number];

export function definitionFromV1beta1({ metadata, spec: old, status: state }: Old) {
  const { group, names: called, scope, version: only = "", versions = [] } = old;
  const all = versions.length > 0 ? versions : [{ name: only, served: true, storage: true }];
  const { preserveUnknownFields } = old;
  return {
    metadata,
    spec: {
      group,
      names: called,
      scope: scope === "" ? "Namespaced" : scope,
      versions: all.map((each) => versionOf(each, old)),
      conversion: conversionOf(old.conversion),
      ...(preserveUnknownFields ? { preserveUnknownFields } : {}),
    },
    status: state,
  };
}

function versionOf(each: OldVersion, all: OldSpec): Version {
  const { additionalPrinterColumns: own, ...rest } = each;
  const schema = each.schema ?? all.validation;
  const endpoints = each.subresources ?? all.subresources;
  const columns = own ?? all.additionalPrinterColumns;
  const selectableFields = each.selectableFields ?? all.selectableFields;
  return {
    ...rest,
    ...(schema === undefined ? {} : { schema }),
    ...(endpoints === undefined ? {} : { subresources: endpoints }),
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

function conversionOf(old: OldSpec["conversion"]) {
  const { strategy = "None", webhookClientConfig: clientConfig } = old ?? {};
  if (strategy !== "Webhook") return { strategy };
  const { conversionReviewVersions = ["v1beta1"] } = old ?? {};
  const webhook = {
    ...(clientConfig === undefined ? {} : { clientConfig }),
    conversionReviewVersions,
  };
  return { strategy, webhook };
}
