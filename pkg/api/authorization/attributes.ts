/** Structs of the request attributes in access reviews. */
import { required, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector } from "#meta";

const v1 = structs("api/authorization/v1");
const atomic = { listType: "atomic" } as const;

const meta = structs("apimachinery/pkg/apis/meta/v1");
const operators = ["In", "NotIn", "Exists", "DoesNotExist"];

const fieldSelectorRequirement = meta(
  "FieldSelectorRequirement",
  "Requirement of a field selector: key, operator and values.",
  {
    key: required(1, string, "Path of the field, for example `spec.nodeName`."),
    operator: required(
      2,
      named("v1.FieldSelectorOperator", ...operators),
      "Relationship of the field to the values: one of In, NotIn, Exists, DoesNotExist.",
      { openApi: { enum: false } },
    ),
    values: value(
      3,
      list(string),
      "Values to compare with. Must be nonempty for In and NotIn, and empty for Exists and " +
        "DoesNotExist.",
      atomic,
    ),
  },
);

const fieldSelectorAttributes = v1(
  "FieldSelectorAttributes",
  "Field selector of a list, watch or deletecollection request, which authorizers can take " +
    "into account.",
  {
    rawSelector: value(
      1,
      string,
      "Selector as in the query parameter. Mutually exclusive with requirements. Webhook " +
        "authorizers should ignore it.",
    ),
    requirements: value(
      2,
      list(fieldSelectorRequirement),
      "Parsed selector: requirements, which are ANDed. Mutually exclusive with rawSelector.",
      atomic,
    ),
  },
);

const labelSelectorAttributes = v1(
  "LabelSelectorAttributes",
  "Label selector of a list, watch or deletecollection request, which authorizers can take " +
    "into account.",
  {
    rawSelector: value(
      1,
      string,
      "Selector as in the query parameter. Mutually exclusive with requirements. Webhook " +
        "authorizers should ignore it.",
    ),
    requirements: value(
      2,
      labelSelector.fields.matchExpressions.type,
      "Parsed selector: requirements, which are ANDed. Mutually exclusive with rawSelector.",
      atomic,
    ),
  },
);

export const resourceAttributes = v1(
  "ResourceAttributes",
  "Attributes of a resource request, for authorization.",
  {
    namespace: value(
      1,
      string,
      "Namespace of the action. Empty for cluster-scoped resources, and for all namespaces.",
    ),
    verb: value(
      2,
      string,
      "Verb of the request: get, list, watch, create, update, patch, delete, " +
        "deletecollection, or `*` for all.",
    ),
    group: value(3, string, "API group of the resource. `*` means all groups."),
    version: value(4, string, "API version of the resource. `*` means all versions."),
    resource: value(5, string, "Resource in lowercase plural. `*` means all resources."),
    subresource: value(6, string, "Subresource. Empty for the resource itself."),
    name: value(7, string, "Name of the object. Empty means all, as for list and create."),
    fieldSelector: pointer(
      8,
      fieldSelectorAttributes,
      "Field selector that limits the objects of the request.",
    ),
    labelSelector: pointer(
      9,
      labelSelectorAttributes,
      "Label selector that limits the objects of the request.",
    ),
  },
);

export const nonResourceAttributes = v1(
  "NonResourceAttributes",
  "Attributes of a non-resource request, for authorization.",
  {
    path: value(1, string, "URL path of the request, for example `/healthz`."),
    verb: value(2, string, "HTTP method of the request in lowercase, for example `get`."),
  },
);
