import { always, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const groupVersionKind = v1("GroupVersionKind", "Group, version and kind of an object.", {
  group: always(1, string, "API group; empty for core."),
  version: always(2, string, "Version of the group."),
  kind: always(3, string, "Kind."),
});

export const groupVersionResource = v1("GroupVersionResource", "A resource of the API.", {
  group: always(1, string, "API group; empty for core."),
  version: always(2, string, "Version of the group."),
  resource: always(3, string, "Plural name."),
});
