import { deepEqual, isIpv4Mapped, parseIp } from "#base";
import {
  required,
  type Infer,
  int32,
  list,
  map,
  named,
  pointer,
  Path,
  value,
  bool,
  type Problems,
  string,
  structs,
} from "#schema";
import {
  type HookContext,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
  resolve,
  kind,
  objectMeta,
} from "#meta";
import { objectReference } from "../core/shared/references.ts";
import {
  addressWarning,
  checkAddress,
  notAnAddressMessage,
  unreachableReason,
} from "../networking/ip.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { entry, invalidEach, mustNotChange, duplicateIndexes, isSameField } from "../strategy.ts";

const v1 = structs("api/discovery/v1");

const endpointConditions = v1("EndpointConditions", "Current conditions of an endpoint.", {
  ready: pointer(
    1,
    bool,
    "Whether the endpoint is ready to receive traffic: usually if it is serving and not " +
      "terminating. Absent means true.",
  ),
  serving: pointer(
    2,
    bool,
    "Whether the endpoint is able to receive traffic, for example because its pod is ready, " +
      "even while terminating. Absent means true.",
  ),
  terminating: pointer(3, bool, "Whether the endpoint is terminating. Absent means false."),
});

const forZone = v1("ForZone", "Zone from which an endpoint should be used.", {
  name: required(1, string, "Name of the zone, as in the zone label of nodes."),
});

const forNode = v1("ForNode", "Node from which an endpoint should be used.", {
  name: required(1, string, "Name of the node: its metadata.name."),
});

const endpointHints = v1(
  "EndpointHints",
  "Hints on which clients should use an endpoint, for topology-aware routing.",
  {
    forZones: value(1, list(forZone), "Zones from which the endpoint should be used, at most 8.", {
      listType: "atomic",
    }),
    forNodes: value(
      2,
      list(forNode),
      "Nodes from which the endpoint should be used, at most 8. Takes precedence over " +
        "forZones. Beta: feature gate PreferSameTrafficDistribution.",
      { listType: "atomic" },
    ),
  },
);

const endpoint = v1("Endpoint", "Single backend that implements a Service, usually a pod.", {
  addresses: required(
    1,
    list(string),
    "Addresses of the endpoint, 1 to 100, of the type that addressType says. kube-proxy uses " +
      "the first one only.",
    {
      listType: "set",
    },
  ),
  conditions: value(
    2,
    endpointConditions,
    "Conditions of the endpoint: ready, serving and terminating.",
  ),
  hostname: pointer(
    3,
    string,
    "Host name of the endpoint, a DNS label. Used in DNS names to tell endpoints apart.",
  ),
  targetRef: pointer(4, objectReference, "Object that provides the endpoint, usually a pod."),
  deprecatedTopology: value(
    5,
    map(string),
    "Deprecated: topology labels of the v1beta1 API, replaced by zone and nodeName. Writes are " +
      "ignored.",
  ),
  nodeName: pointer(
    6,
    string,
    "Name of the node that hosts the endpoint. Traffic policies that prefer local endpoints " +
      "depend on it.",
  ),
  zone: pointer(7, string, "Name of the zone of the endpoint, as in the zone label of its node."),
  hints: pointer(8, endpointHints, "Hints on which clients should use the endpoint."),
});

const endpointPort = v1(
  "EndpointPort",
  "Port exposed by the endpoints of an EndpointSlice.",
  {
    name: pointer(
      1,
      string,
      "Name of the port: empty or a DNS label, and unique within the slice. Corresponds to the " +
        'port name of the Service. Defaults to "".',
      { default: "" },
    ),
    protocol: pointer(
      2,
      named("v1.Protocol", "TCP", "UDP", "SCTP"),
      "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.",
      { default: "TCP" },
    ),
    port: pointer(
      3,
      int32,
      "Port number of the endpoint. For a Service, it is the target port. If absent, its " +
        "meaning is up to the consumer.",
    ),
    appProtocol: pointer(
      4,
      string,
      "Application protocol hint: an IANA service name such as `http`, a prefixed name that " +
        "Kubernetes defines (h2c, ws, wss), or another domain-prefixed name such as " +
        "`example.com/my-protocol`.",
    ),
  },
  { atomic: true },
);

const endpointSliceV1 = v1(
  "EndpointSlice",
  "EndpointSlice represents a set of endpoints of a Service. All slices of a Service together " +
    "make up its endpoints.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. The label service-name refers to the Service of the slice.",
    ),
    addressType: required(
      4,
      named("v1.AddressType", "IPv4", "IPv6", "FQDN"),
      "Type of the addresses in the slice: one of IPv4, IPv6, FQDN (deprecated). Immutable.",
    ),
    endpoints: required(2, list(endpoint), "Endpoints in the slice, at most 1000.", {
      listType: "atomic",
    }),
    ports: required(
      3,
      list(endpointPort),
      "Ports exposed by each endpoint in the slice, at most 100, with unique names.",
      { listType: "atomic", openApi: { required: false } },
    ),
  },
);

type EndpointSlice = Infer<typeof endpointSliceV1>;
type Endpoint = Infer<typeof endpoint>;
type Port = Infer<typeof endpointPort>;

const maxEndpoints = 1000;
const maxPorts = 20_000;
const maxAddresses = 100;
const maxHints = 8;
const addressTypes = ["FQDN", "IPv4", "IPv6"];
const protocols = ["SCTP", "TCP", "UDP"];

/** Validates a fully qualified domain name: at least two labels, trailing dot allowed. */
function checkDomainName(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path);
  const bare = name.endsWith(".") ? name.slice(0, -1) : name;
  const messages = isDns1123Subdomain(bare);
  if (messages.length > 0) return problems.invalid(path, bare, messages.join(","));
  const labels = bare.split(".");
  if (labels.length < 2) {
    const detail = "should be a domain with at least two segments separated by dots";
    return problems.invalid(path, bare, detail);
  }
  // Kubernetes reports only the first invalid label.
  const wrong = labels.find((label) => isDns1123Label(label).length > 0);
  if (wrong !== undefined) problems.invalid(path, wrong, isDns1123Label(wrong).join(","));
}

interface FieldContext {
  readonly path: Path;
  readonly problems: Problems;
}

/**
 * Validates an address. IPv4 octets may have leading zeros; a wrong family is reported for the
 * list.
 */
function checkOneAddress(
  text: string,
  type: string,
  index: number,
  { path, problems }: FieldContext,
): void {
  const itemPath = path.index(index);
  if (type === "FQDN") return checkDomainName(text, itemPath, problems);
  if (type !== "IPv4" && type !== "IPv6") return;
  const address = parseIp(text);
  if (address === undefined) return problems.invalid(itemPath, text, notAnAddressMessage);
  const messages = type === "IPv6" ? checkAddress(text) : [];
  if (messages.length > 0) return invalidEach(problems, itemPath, { value: text, messages });
  const isIpv4 = address.length === 4 || isIpv4Mapped(address);
  if (isIpv4 !== (type === "IPv4")) {
    problems.invalid(path, text, `must be an ${type} address`);
  }
  const reason = unreachableReason(address, text);
  if (reason !== undefined) problems.invalid(itemPath, text, reason);
}

/**
 * Validates hints; returns false if there are too many, in which case Kubernetes skips the rest.
 */
function checkHints(
  names: readonly string[],
  { path, problems, check }: FieldContext & { readonly check: (name: string) => readonly string[] },
): boolean {
  if (names.length > maxHints) {
    problems.tooMany(path, names.length, maxHints);
    return false;
  }
  for (const [index, name] of names.entries()) {
    const namePath = path.index(index).child("name");
    if (names.indexOf(name) < index) problems.duplicate(namePath, name);
    invalidEach(problems, namePath, { value: name, messages: check(name) });
  }
  return true;
}

function checkAddresses(each: Endpoint, type: string, { path, problems }: FieldContext): void {
  const addresses = each.addresses ?? [];
  const addressPath = path.child("addresses");
  if (addresses.length === 0) problems.required(addressPath, "must contain at least 1 address");
  if (addresses.length > maxAddresses) {
    problems.tooMany(addressPath, addresses.length, maxAddresses);
  }
  for (const [index, text] of addresses.entries()) {
    checkOneAddress(text, type, index, { path: addressPath, problems });
  }
}

function checkEndpoint(each: Endpoint, { path, problems }: FieldContext): void {
  const { nodeName, hostname, hints } = each;
  if (nodeName !== undefined) {
    const messages = isDns1123Subdomain(nodeName);
    invalidEach(problems, path.child("nodeName"), { value: nodeName, messages });
  }
  if (hostname !== undefined) {
    invalidEach(problems, path.child("hostname"), {
      value: hostname,
      messages: isDns1123Label(hostname),
    });
  }
  const zones = (hints?.forZones ?? []).map(({ name }) => name);
  const zonePath = path.child("hints", "forZones");
  if (!checkHints(zones, { path: zonePath, problems, check: isLabelValue })) return;
  const nodes = (hints?.forNodes ?? []).map(({ name }) => name);
  const nodePath = path.child("hints", "forNodes");
  checkHints(nodes, { path: nodePath, problems, check: isDns1123Subdomain });
}

function checkPort(port: Port, isRepeated: boolean, { path, problems }: FieldContext): void {
  const { name = "", protocol, appProtocol } = port;
  const namePath = path.child("name");
  if (name !== "") invalidEach(problems, namePath, { value: name, messages: isDns1123Label(name) });
  if (isRepeated) problems.duplicate(namePath, name);
  if (protocol === undefined) problems.required(path.child("protocol"));
  else if (!protocols.includes(protocol)) {
    problems.notSupported(path.child("protocol"), protocol, protocols);
  }
  if (appProtocol === undefined) return;
  const messages = isQualifiedName(appProtocol);
  invalidEach(problems, path.child("appProtocol"), { value: appProtocol, messages });
}

/** Validates a slice; endpoints that an update leaves unchanged are skipped. */
function validate(slice: EndpointSlice, problems: Problems, old?: EndpointSlice): void {
  const { addressType } = slice;
  if (addressType === "") problems.required(Path.of("addressType"));
  else if (!addressTypes.includes(addressType)) {
    problems.notSupported(Path.of("addressType"), addressType, addressTypes);
  }
  const endpoints = slice.endpoints ?? [];
  const ports = slice.ports ?? [];
  checkPorts(ports, problems);
  if (old !== undefined && isSameField(endpointSliceV1, "endpoints", [slice, old])) return;
  checkEndpoints(endpoints, addressType, problems);
}

function checkEndpoints(endpoints: readonly Endpoint[], type: string, problems: Problems): void {
  const path = Path.of("endpoints");
  if (endpoints.length > maxEndpoints) {
    return problems.tooMany(path, endpoints.length, maxEndpoints);
  }
  for (const [index, each] of endpoints.entries()) {
    const context = { path: path.index(index), problems };
    checkAddresses(each, type, context);
    checkEndpoint(each, context);
  }
}

function checkPorts(ports: readonly Port[], problems: Problems): void {
  const portPath = Path.of("ports");
  if (ports.length > maxPorts) return problems.tooMany(portPath, ports.length, maxPorts);
  const repeated = duplicateIndexes(ports, ({ name = "" }) => name);
  for (const [index, port] of ports.entries()) {
    checkPort(port, repeated.has(index), { path: portPath.index(index), problems });
  }
}

const managedByLabel = "endpointslice.{label}/managed-by";
const controllers = ["endpointslice-controller.{api}", "endpointslicemirroring-controller.{api}"];

/**
 * Warnings about a new slice's address type, and about addresses in slices without a controller.
 */
function warnings(
  slice: EndpointSlice,
  old: EndpointSlice | undefined,
  { domain }: HookContext,
): readonly string[] {
  if (slice.addressType === "FQDN") {
    return old === undefined ? ["spec.addressType: FQDN endpoints are deprecated"] : [];
  }
  const manager = entry(slice.metadata.labels, resolve(managedByLabel, domain));
  if (controllers.some((name) => resolve(name, domain) === manager)) return [];
  return (slice.endpoints ?? []).flatMap(({ addresses }, index) =>
    (addresses ?? []).flatMap((text, i) => {
      const warning = addressWarning(text);
      return warning === undefined ? [] : [`endpoints[${index}].addresses[${i}]: ${warning}`];
    }),
  );
}

/** Drops deprecatedTopology, a field of v1beta1, which is no longer served. */
function dropTopology(slice: EndpointSlice): void {
  for (const each of slice.endpoints ?? []) delete each.deprecatedTopology;
}

const maxShown = 3;

/** Table cell of the first three elements and the number of others. */
function some(all: readonly string[]): string {
  const more = all.length - maxShown;
  const first = all.slice(0, maxShown).join(",");
  return more > 0 ? `${first} + ${more} more...` : first || "<unset>";
}

/** Port number, or the name if the number is absent (all ports). */
function describePort({ port, name }: Port): string {
  return port === undefined ? (name ?? "") : String(port);
}

/**
 * Increments the generation for changed endpoints and labels, as a label names the Service. A
 * dropped topology counts as a change, as in Kubernetes.
 */
function moveGeneration({ metadata, endpoints }: EndpointSlice, old: EndpointSlice): void {
  const hasTopology = endpoints?.some(
    ({ deprecatedTopology: topology }) => Object.keys(topology ?? {}).length > 0,
  );
  if (!hasTopology && deepEqual(metadata.labels ?? {}, old.metadata.labels ?? {})) return;
  metadata.generation = Number(old.metadata.generation ?? 0) + 1;
}

export const endpointSlice = kind(endpointSliceV1, {
  group: "discovery.{api}",
  kind: "EndpointSlice",
  plural: "endpointslices",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: endpointSliceV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["object"] }, generation: true },
  hooks: {
    prepareCreate: dropTopology,
    prepareUpdate: (object, old) => {
      moveGeneration(object, old);
      dropTopology(object);
    },
    validate: (object, problems) => validate(object, problems),
    validateUpdate: (object, old, problems) => {
      validate(object, problems, old);
      const values = { now: object.addressType, before: old.addressType };
      mustNotChange(problems, Path.of("addressType"), values);
    },
    warnings,
  },
  columns: [
    nameColumn,
    column("AddressType", "Type of the addresses."),
    column("Ports", "Ports that every endpoint exposes."),
    column("Endpoints", "Addresses of the endpoints."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.addressType,
    some((object.ports ?? []).map(describePort)),
    some((object.endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
    ageOf(object, context),
  ],
});
