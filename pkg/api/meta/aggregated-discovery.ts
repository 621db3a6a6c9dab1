/** Aggregated discovery (apidiscovery v2): all groups, versions and resources in one document. */
import { required, list, named, pointer, value, string, structs } from "#schema";
import { listMeta, objectMeta } from "#meta";
import { groupVersionKind } from "./group-version.ts";

const v2 = structs("api/apidiscovery/v2");

const apiSubresourceDiscovery = v2(
  "APISubresourceDiscovery",
  "Subresource of a resource, for example `status`.",
  {
    subresource: required(1, string, "Name of the subresource, as in the URL path."),
    responseKind: pointer(
      2,
      groupVersionKind,
      "Group, version and kind of the response. Absent if it is not a Kubernetes object.",
    ),
    acceptedTypes: value(
      3,
      list(groupVersionKind),
      "Kinds that the subresource accepts in request bodies.",
      {
        listType: "map",
        listMapKeys: ["group", "version", "kind"],
      },
    ),
    verbs: required(4, list(string), "Supported verbs, such as get, create, update and patch.", {
      listType: "set",
    }),
  },
);

const apiResourceDiscovery = v2(
  "APIResourceDiscovery",
  "Resource of an API version, and its subresources.",
  {
    resource: required(1, string, "Name of the resource in lowercase plural."),
    responseKind: pointer(
      2,
      groupVersionKind,
      "Group, version and kind of the objects. Absent if they have no fixed kind.",
    ),
    scope: required(3, named("v2.ResourceScope"), "Scope of the resource: Cluster or Namespaced."),
    singularResource: required(4, string, "Singular name of the resource, in lowercase."),
    verbs: required(
      5,
      list(string),
      "Supported verbs, such as get, list, watch, create, update, patch, delete and " +
        "deletecollection.",
      {
        listType: "set",
      },
    ),
    shortNames: value(6, list(string), "Short names of the resource, for command-line tools.", {
      listType: "set",
    }),
    categories: value(
      7,
      list(string),
      "Categories that the resource belongs to, for example `all`.",
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

const apiVersionDiscovery = v2(
  "APIVersionDiscovery",
  "Version of an API group and its resources.",
  {
    version: required(1, string, "Name of the version within its group."),
    resources: value(2, list(apiResourceDiscovery), "Resources that the version serves.", {
      listType: "map",
      listMapKeys: ["resource"],
    }),
    freshness: value(
      3,
      named("v2.DiscoveryFreshness"),
      "Freshness of the information: Current, or Stale if the extension API server is not reachable.",
    ),
  },
);

const apiGroupDiscovery = v2("APIGroupDiscovery", "API group and its versions.", {
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
  "APIGroupDiscoveryList is the aggregated discovery document, with all groups, versions and " +
    "resources of the server.",
  {
    metadata: value(1, listMeta, "Standard list metadata."),
    items: required(2, list(apiGroupDiscovery), "API groups in order of preference."),
  },
);
