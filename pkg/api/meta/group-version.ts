import { required, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const groupVersionKind = v1("GroupVersionKind", "Group, version and kind of an object.", {
  group: required(1, string, "API group; empty for core."),
  version: required(2, string, "Version of the group."),
  kind: required(3, string, "Kind."),
});

export const groupVersionResource = v1("GroupVersionResource", "A resource of the API.", {
  group: required(1, string, "API group; empty for core."),
  version: required(2, string, "Version of the group."),
  resource: required(3, string, "Plural name."),
});
