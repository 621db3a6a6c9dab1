import { required, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const groupVersionKind = v1("GroupVersionKind", "Group, version and kind of an object.", {
  group: required(1, string, "API group. Empty for the core group."),
  version: required(2, string, "API version within the group."),
  kind: required(3, string, "Kind of the object, in CamelCase."),
});

export const groupVersionResource = v1(
  "GroupVersionResource",
  "Group, version and resource name.",
  {
    group: required(1, string, "API group. Empty for the core group."),
    version: required(2, string, "API version within the group."),
    resource: required(3, string, "Name of the resource in lowercase plural."),
  },
);
