/** Discovery: one document per group and version. */
import { required, bool, list, value, scalar, ScalarFault, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const groupVersionForDiscovery = v1("GroupVersionForDiscovery", "Group version in discovery.", {
  groupVersion: required(1, string, "API group and version, as `<group>/<version>`."),
  version: required(2, string, "API version without the group."),
});

const serverAddressByClientCIDR = v1(
  "ServerAddressByClientCIDR",
  "Server address for clients from an IP range.",
  {
    clientCIDR: required(1, string, "IP range of the clients, in CIDR notation."),
    serverAddress: required(2, string, "Host name or IP address, optionally with a port."),
  },
);

export const apiGroup = v1(
  "APIGroup",
  "APIGroup contains the name, the versions and the preferred version of an API group.",
  {
    name: required(1, string, "Name of the API group."),
    versions: required(
      2,
      list(groupVersionForDiscovery),
      "Versions of the group that the server serves.",
      {
        listType: "atomic",
      },
    ),
    preferredVersion: value(3, groupVersionForDiscovery, "Version that the server prefers."),
    serverAddressByClientCIDRs: value(
      4,
      list(serverAddressByClientCIDR),
      "Server addresses by IP range of the client. If empty, clients use the address of this " +
        "request.",
      { listType: "atomic" },
    ),
  },
);

export const apiGroupList = v1(
  "APIGroupList",
  "APIGroupList is the discovery document at `/apis`, with all API groups except the core group.",
  {
    groups: required(1, list(apiGroup), "API groups in order of preference.", {
      listType: "atomic",
    }),
  },
);

export const apiVersions = v1(
  "APIVersions",
  "APIVersions is the discovery document at `/api`, with the versions of the core group.",
  {
    versions: required(1, list(string), "Versions of the core group that the server serves.", {
      listType: "atomic",
    }),
    serverAddressByClientCIDRs: required(
      2,
      list(serverAddressByClientCIDR),
      "Server addresses by IP range of the client.",
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
  doc: "List of verbs that a resource supports.",
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

const apiResource = v1("APIResource", "Resource or subresource of a group version.", {
  name: required(
    1,
    string,
    "Plural name of the resource, in lowercase, or `<resource>/<subresource>`.",
  ),
  singularName: required(6, string, "Singular name of the resource, in lowercase."),
  namespaced: required(2, bool, "Whether the resource is namespaced."),
  group: value(
    8,
    string,
    "API group of the kind, if it differs from that of the list, as for Scale.",
  ),
  version: value(9, string, "API version of the kind, if it differs from that of the list."),
  kind: required(3, string, "Kind of the object, in CamelCase."),
  verbs: required(
    4,
    verbs,
    "Supported verbs, such as get, list, watch, create, update, patch, delete and " +
      "deletecollection.",
  ),
  shortNames: value(5, list(string), "Short names of the resource, for command-line tools.", {
    listType: "atomic",
  }),
  categories: value(
    7,
    list(string),
    "Categories that the resource belongs to, for example `all`.",
    {
      listType: "atomic",
    },
  ),
  storageVersionHash: value(
    10,
    string,
    "Hash of the storage version, opaque to clients: it changes when objects are stored in " +
      "another version.",
  ),
});

export const apiResourceList = v1(
  "APIResourceList",
  "APIResourceList is the discovery document of a group version, with its resources.",
  {
    groupVersion: required(1, string, "Group and version of the resources."),
    resources: required(2, list(apiResource), "Resources and subresources in the group version.", {
      listType: "atomic",
    }),
  },
);
