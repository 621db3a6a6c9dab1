/** Everything that is served, in one document (apidiscovery v2). */
import { required, list, named, pointer, value, string, structs } from "#schema";
import { listMeta, objectMeta } from "#meta";
import { groupVersionKind } from "./group-version.ts";

const v2 = structs("api/apidiscovery/v2");

const apiSubresourceDiscovery = v2("APISubresourceDiscovery", "A subresource.", {
  subresource: required(1, string, "Its name, as in the path."),
  responseKind: pointer(2, groupVersionKind, "Kind of the answer."),
  acceptedTypes: value(3, list(groupVersionKind), "Kinds of body that it takes.", {
    listType: "map",
    listMapKeys: ["group", "version", "kind"],
  }),
  verbs: required(4, list(string), "What can be done with it.", { listType: "set" }),
});

const apiResourceDiscovery = v2("APIResourceDiscovery", "A resource with its subresources.", {
  resource: required(1, string, "Plural name."),
  responseKind: pointer(2, groupVersionKind, "Kind of its objects."),
  scope: required(3, named("v2.ResourceScope"), "Cluster or Namespaced."),
  singularResource: required(4, string, "Singular name."),
  verbs: required(5, list(string), "What can be done with it.", { listType: "set" }),
  shortNames: value(6, list(string), "Short names for the command line.", { listType: "set" }),
  categories: value(7, list(string), "Groups of resources it belongs to, such as `all`.", {
    listType: "set",
  }),
  subresources: value(8, list(apiSubresourceDiscovery), "Its subresources.", {
    listType: "map",
    listMapKeys: ["subresource"],
  }),
});

const apiVersionDiscovery = v2("APIVersionDiscovery", "The resources of one version.", {
  version: required(1, string, "The version."),
  resources: value(2, list(apiResourceDiscovery), "The resources.", {
    listType: "map",
    listMapKeys: ["resource"],
  }),
  freshness: value(3, named("v2.DiscoveryFreshness"), "Current or Stale."),
});

const apiGroupDiscovery = v2("APIGroupDiscovery", "The versions of one group.", {
  metadata: value(1, objectMeta, "Metadata; the name is that of the group."),
  versions: value(2, list(apiVersionDiscovery), "The versions, in order of preference.", {
    listType: "map",
    listMapKeys: ["version"],
  }),
});

export const apiGroupDiscoveryList = v2("APIGroupDiscoveryList", "Every group that is served.", {
  metadata: value(1, listMeta, "Metadata of the list."),
  items: required(2, list(apiGroupDiscovery), "The groups, in order of preference."),
});
