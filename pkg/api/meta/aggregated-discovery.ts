/** Aggregated discovery (apidiscovery v2): all groups, versions and resources in one document. */
import { required, list, named, pointer, value, string, structs } from "#schema";
import { listMeta, objectMeta } from "#meta";
import { groupVersionKind } from "./group-version.ts";

const v2 = structs("api/apidiscovery/v2");

const apiSubresourceDiscovery = v2(
  "APISubresourceDiscovery",
  "Subresource of a resource in discovery.",
  {
    subresource: required(1, string, "Name of the subresource, as in the path."),
    responseKind: pointer(
      2,
      groupVersionKind,
      "Kind of the response. Absent if it is not a Kubernetes object.",
    ),
    acceptedTypes: value(
      3,
      list(groupVersionKind),
      "Kinds accepted as request body, if they differ from responseKind.",
      {
        listType: "map",
        listMapKeys: ["group", "version", "kind"],
      },
    ),
    verbs: required(4, list(string), "Supported verbs: get, create, update, patch and others.", {
      listType: "set",
    }),
  },
);

const apiResourceDiscovery = v2(
  "APIResourceDiscovery",
  "Resource in discovery, with its subresources.",
  {
    resource: required(1, string, "Name of the resource in lowercase plural."),
    responseKind: pointer(
      2,
      groupVersionKind,
      "Kind of the objects. Absent if they have no fixed kind.",
    ),
    scope: required(3, named("v2.ResourceScope"), "Scope of the resource: Cluster or Namespaced."),
    singularResource: required(4, string, "Name of the resource in lowercase singular."),
    verbs: required(5, list(string), "Supported verbs: get, list, watch, create and others.", {
      listType: "set",
    }),
    shortNames: value(6, list(string), "Abbreviations of the resource for command-line tools.", {
      listType: "set",
    }),
    categories: value(
      7,
      list(string),
      "Groups of resources that the resource belongs to, for example `all`.",
      {
        listType: "set",
      },
    ),
    subresources: value(8, list(apiSubresourceDiscovery), "Subresources of the resource.", {
      listType: "map",
      listMapKeys: ["subresource"],
    }),
  },
);

const apiVersionDiscovery = v2("APIVersionDiscovery", "Version of an API group in discovery.", {
  version: required(1, string, "Name of the version within its group."),
  resources: value(2, list(apiResourceDiscovery), "Resources that the version serves.", {
    listType: "map",
    listMapKeys: ["resource"],
  }),
  freshness: value(
    3,
    named("v2.DiscoveryFreshness"),
    "Whether the information is up to date: Current, or Stale if the extension API server " +
      "cannot be reached.",
  ),
});

const apiGroupDiscovery = v2("APIGroupDiscovery", "API group in discovery, with its versions.", {
  metadata: value(
    1,
    objectMeta,
    "Standard object metadata. The name is that of the group; empty for the core group.",
  ),
  versions: value(2, list(apiVersionDiscovery), "Versions of the group, the preferred one first.", {
    listType: "map",
    listMapKeys: ["version"],
  }),
});

export const apiGroupDiscoveryList = v2(
  "APIGroupDiscoveryList",
  "APIGroupDiscoveryList is the aggregated discovery document: all groups, versions and " +
    "resources of the server.",
  {
    metadata: value(1, listMeta, "Standard list metadata, usually empty."),
    items: required(2, list(apiGroupDiscovery), "API groups in order of preference."),
  },
);
