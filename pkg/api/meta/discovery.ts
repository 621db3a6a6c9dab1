/** What a server serves, one document per group and version. */
import { required, bool, list, value, scalar, ScalarFault, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const groupVersionForDiscovery = v1("GroupVersionForDiscovery", "A version of a group.", {
  groupVersion: required(1, string, "Group and version in one, `group/version`."),
  version: required(2, string, "The version alone."),
});

const serverAddressByClientCIDR = v1(
  "ServerAddressByClientCIDR",
  "Which address of the server is for clients of which network.",
  {
    clientCIDR: required(1, string, "Network of the clients."),
    serverAddress: required(
      2,
      string,
      "Address for them: a host name, or an IP with an optional port.",
    ),
  },
);

export const apiGroup = v1("APIGroup", "A group and its versions.", {
  name: required(1, string, "Name of the group."),
  versions: required(2, list(groupVersionForDiscovery), "The versions served.", {
    listType: "atomic",
  }),
  preferredVersion: value(3, groupVersionForDiscovery, "The version that clients should take."),
  serverAddressByClientCIDRs: value(
    4,
    list(serverAddressByClientCIDR),
    "Addresses of the server, by network of the client.",
    { listType: "atomic" },
  ),
});

export const apiGroupList = v1(
  "APIGroupList",
  "Every group that is served: the document at `/apis`.",
  {
    groups: required(1, list(apiGroup), "The groups.", { listType: "atomic" }),
  },
);

export const apiVersions = v1(
  "APIVersions",
  "The versions of the core group: the document at `/api`.",
  {
    versions: required(1, list(string), "The versions served.", { listType: "atomic" }),
    serverAddressByClientCIDRs: required(
      2,
      list(serverAddressByClientCIDR),
      "Addresses of the server, by network of the client.",
      { listType: "atomic" },
    ),
  },
);

const verbList = v1("Verbs", "Verbs, as a message of their own on the wire.", {
  items: value(1, list(string), "The verbs."),
});

/** A list of strings in JSON, a message around one in Protobuf; an absent list is null. */
export const verbs = scalar<readonly string[] | null>({
  name: "Verbs",
  package: "apimachinery/pkg/apis/meta/v1",
  doc: "Verbs of the API: get, list, watch, create, update, patch, delete, deletecollection.",
  fromJson: (value) => {
    if (value === null || value === undefined) return null;
    if (Array.isArray(value) && value.every((verb) => typeof verb === "string")) return value;
    throw new ScalarFault("json: cannot unmarshal value into Go value of type v1.Verbs");
  },
  wire: verbList,
  toWire: (value) => ({ items: value ?? [] }),
  fromWire: (message: { readonly items?: readonly string[] }) => message.items ?? [],
  openapi: { type: "array", items: { type: "string" } },
  zero: null,
});

const apiResource = v1("APIResource", "A resource of a group version.", {
  name: required(1, string, "Plural name; `resource/subresource` for a subresource."),
  singularName: required(6, string, "Singular name, in lower case."),
  namespaced: required(2, bool, "Whether its objects live in namespaces."),
  group: value(8, string, "Group of its kind where it differs from the document."),
  version: value(9, string, "Version of its kind where it differs from the document."),
  kind: required(3, string, "Kind of its objects."),
  verbs: required(4, verbs, "What can be done with it."),
  shortNames: value(5, list(string), "Short names for the command line.", { listType: "atomic" }),
  categories: value(7, list(string), "Groups of resources it belongs to, such as `all`.", {
    listType: "atomic",
  }),
  storageVersionHash: value(10, string, "Changes when objects are stored in another version."),
});

export const apiResourceList = v1("APIResourceList", "The resources of one group version.", {
  groupVersion: required(1, string, "The group and version."),
  resources: required(2, list(apiResource), "The resources.", { listType: "atomic" }),
});
