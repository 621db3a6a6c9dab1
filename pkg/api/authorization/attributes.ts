/** What access reviews ask about. */
import { required, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector } from "#meta";

const v1 = structs("api/authorization/v1");
const atomic = { listType: "atomic" } as const;

const meta = structs("apimachinery/pkg/apis/meta/v1");
const operators = ["In", "NotIn", "Exists", "DoesNotExist"];

const fieldSelectorRequirement = meta("FieldSelectorRequirement", "Relates a field to values.", {
  key: required(1, string, "Path of the field."),
  operator: required(
    2,
    named("v1.FieldSelectorOperator", ...operators),
    "How the field relates to the values.",
  ),
  values: value(3, list(string), "The values, for In and NotIn.", atomic),
});

const fieldSelectorAttributes = v1("FieldSelectorAttributes", "The field selector of a request.", {
  rawSelector: value(1, string, "As text, as queries have it; excludes requirements."),
  requirements: value(2, list(fieldSelectorRequirement), "Taken apart.", atomic),
});

const labelSelectorAttributes = v1("LabelSelectorAttributes", "The label selector of a request.", {
  rawSelector: value(1, string, "As text, as queries have it; excludes requirements."),
  requirements: value(2, labelSelector.fields.matchExpressions.type, "Taken apart.", atomic),
});

export const resourceAttributes = v1("ResourceAttributes", "A request on a resource.", {
  namespace: value(1, string, "Namespace; empty means all, or none for cluster-scoped ones."),
  verb: value(2, string, "Verb: get, list, watch, create, update, patch, delete, …, or `*`."),
  group: value(3, string, "API group; `*` means all."),
  version: value(4, string, "API version; `*` means all."),
  resource: value(5, string, "Plural name; `*` means all."),
  subresource: value(6, string, "Subresource; empty means none."),
  name: value(7, string, "Name of the object; empty means all."),
  fieldSelector: pointer(8, fieldSelectorAttributes, "Narrows a list down by fields."),
  labelSelector: pointer(9, labelSelectorAttributes, "Narrows a list down by labels."),
});

export const nonResourceAttributes = v1("NonResourceAttributes", "A request on another path.", {
  path: value(1, string, "Path, as in `/healthz`."),
  verb: value(2, string, "HTTP method in lower case."),
});
