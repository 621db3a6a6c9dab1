/** Everything that is served, in one document (apidiscovery v2). */
import { always, list, named, optional, plain, string, structs } from "#schema";
import { listMeta, objectMeta } from "#meta";
import { groupVersionKind } from "./group-version.ts";

const v2 = structs("api/apidiscovery/v2");

const apiSubresourceDiscovery = v2("APISubresourceDiscovery", "A subresource.", {
  subresource: always(1, string, "Its name, as in the path."),
  responseKind: optional(2, groupVersionKind, "Kind of the answer."),
  acceptedTypes: plain(3, list(groupVersionKind), "Kinds of body that it takes.", {
    listType: "map",
    listMapKeys: ["group", "version", "kind"],
  }),
  verbs: always(4, list(string), "What can be done with it.", { listType: "set" }),
});

const apiResourceDiscovery = v2("APIResourceDiscovery", "A resource with its subresources.", {
  resource: always(1, string, "Plural name."),
  responseKind: optional(2, groupVersionKind, "Kind of its objects."),
  scope: always(3, named("v2.ResourceScope"), "Cluster or Namespaced."),
  singularResource: always(4, string, "Singular name."),
  verbs: always(5, list(string), "What can be done with it.", { listType: "set" }),
  shortNames: plain(6, list(string), "Short names for the command line.", { listType: "set" }),
  categories: plain(7, list(string), "Groups of resources it belongs to, such as `all`.", {
    listType: "set",
  }),
  subresources: plain(8, list(apiSubresourceDiscovery), "Its subresources.", {
    listType: "map",
    listMapKeys: ["subresource"],
  }),
});

const apiVersionDiscovery = v2("APIVersionDiscovery", "The resources of one version.", {
  version: always(1, string, "The version."),
  resources: plain(2, list(apiResourceDiscovery), "The resources.", {
    listType: "map",
    listMapKeys: ["resource"],
  }),
  freshness: plain(3, named("v2.DiscoveryFreshness"), "Current or Stale."),
});

const apiGroupDiscovery = v2("APIGroupDiscovery", "The versions of one group.", {
  metadata: plain(1, objectMeta, "Metadata; the name is that of the group."),
  versions: plain(2, list(apiVersionDiscovery), "The versions, in order of preference.", {
    listType: "map",
    listMapKeys: ["version"],
  }),
});

export const apiGroupDiscoveryList = v2("APIGroupDiscoveryList", "Every group that is served.", {
  metadata: plain(1, listMeta, "Metadata of the list."),
  items: always(2, list(apiGroupDiscovery), "The groups, in order of preference."),
});
