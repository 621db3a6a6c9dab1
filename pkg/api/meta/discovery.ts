/** Discovery: one document per group and version. */
import { required, bool, list, value, scalar, ScalarFault, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const groupVersionForDiscovery = v1("GroupVersionForDiscovery", "Version of an API group.", {
  groupVersion: required(1, string, "Group and version in the form `group/version`."),
  version: required(2, string, "Version without the group."),
});

const serverAddressByClientCIDR = v1(
  "ServerAddressByClientCIDR",
  "Address of the server for clients of one network.",
  {
    clientCIDR: required(1, string, "IP range of the clients, in CIDR notation."),
    serverAddress: required(
      2,
      string,
      "Address for these clients: host name or IP address, optionally with port.",
    ),
  },
);

export const apiGroup = v1("APIGroup", "APIGroup lists the versions of an API group.", {
  name: required(1, string, "Name of the API group."),
  versions: required(2, list(groupVersionForDiscovery), "Versions that the server supports.", {
    listType: "atomic",
  }),
  preferredVersion: value(3, groupVersionForDiscovery, "Version that clients should prefer."),
  serverAddressByClientCIDRs: value(
    4,
    list(serverAddressByClientCIDR),
    "Addresses of the server by network of the client. When empty, the address used for " +
      "this request.",
    { listType: "atomic" },
  ),
});

export const apiGroupList = v1(
  "APIGroupList",
  "APIGroupList is the document at `/apis`: all API groups except core.",
  {
    groups: required(1, list(apiGroup), "API groups in order of preference.", {
      listType: "atomic",
    }),
  },
);

export const apiVersions = v1(
  "APIVersions",
  "APIVersions is the document at `/api`: the versions of the core group.",
  {
    versions: required(1, list(string), "Versions of the core group that the server supports.", {
      listType: "atomic",
    }),
    serverAddressByClientCIDRs: required(
      2,
      list(serverAddressByClientCIDR),
      "Addresses of the server by network of the client.",
      { listType: "atomic" },
    ),
  },
);

const verbList = v1("Verbs", "Message that holds a list of verbs on the wire.", {
  items: value(1, list(string), "Names of the verbs, in order."),
});

/** Verbs: a list of strings in JSON, a message around one in Protobuf; an absent list is null. */
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
  openapi: {
    isInline: true,
    type: "array",
    items: { type: "string" },
    v3: { type: "array", items: { type: "string", default: "" } },
  },
  zero: null,
});

const apiResource = v1("APIResource", "Resource in discovery.", {
  name: required(1, string, "Name in lowercase plural; `resource/subresource` for a subresource."),
  singularName: required(6, string, "Name in lowercase singular."),
  namespaced: required(2, bool, "Whether the objects belong to namespaces."),
  group: value(
    8,
    string,
    "API group of the kind, if it differs from that of the document. Scale and Eviction " +
      "are examples.",
  ),
  version: value(9, string, "API version of the kind, if it differs from that of the document."),
  kind: required(3, string, "Kind of the objects in CamelCase."),
  verbs: required(
    4,
    verbs,
    "Supported verbs: get, list, watch, create, update, patch, delete, deletecollection " +
      "and proxy.",
  ),
  shortNames: value(5, list(string), "Abbreviations of the resource for command-line tools.", {
    listType: "atomic",
  }),
  categories: value(
    7,
    list(string),
    "Groups of resources that the resource belongs to, for example `all`.",
    {
      listType: "atomic",
    },
  ),
  storageVersionHash: value(
    10,
    string,
    "Hash of the storage version. It changes when objects are stored in another version, " +
      "and is opaque to clients.",
  ),
});

export const apiResourceList = v1(
  "APIResourceList",
  "APIResourceList lists the resources of one group version.",
  {
    groupVersion: required(1, string, "Group and version that the resources belong to."),
    resources: required(2, list(apiResource), "Resources and subresources of the group version.", {
      listType: "atomic",
    }),
  },
);
