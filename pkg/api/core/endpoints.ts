import {
  required,
  type Infer,
  int32,
  list,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import {
  type HookContext,
  isDns1123Label,
  isDns1123Subdomain,
  isPortNumber,
  isQualifiedName,
  resolve,
  kind,
  objectMeta,
} from "#meta";
import { parseIp } from "#base";
import { addressWarning, notAnAddressMessage, unreachableReason } from "../networking/ip.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { entry, invalidEach } from "../strategy.ts";
import { objectReference } from "./shared/references.ts";

const v1 = structs("api/core/v1");

const endpointAddress = v1(
  "EndpointAddress",
  "Address of one endpoint.",
  {
    ip: required(
      1,
      string,
      "IP address of the endpoint. Must not be a loopback or link-local address.",
    ),
    hostname: value(3, string, "Host name of the endpoint, used in its DNS record."),
    nodeName: pointer(4, string, "Node that hosts the endpoint."),
    targetRef: pointer(2, objectReference, "Object that provides the endpoint, usually a pod."),
  },
  { atomic: true },
);

const endpointPort = v1(
  "EndpointPort",
  "Port that all addresses of a subset expose.",
  {
    name: value(
      1,
      string,
      "Name of the port, a DNS label. Required when there is more than one. Corresponds to " +
        "the port name of the Service.",
    ),
    port: required(2, int32, "Port number, 1 to 65535."),
    protocol: value(
      3,
      named("v1.Protocol", "TCP", "UDP", "SCTP"),
      "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.",
      { default: "TCP" },
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

const endpointSubset = v1(
  "EndpointSubset",
  "Addresses that share the same ports: every address exposes every port.",
  {
    addresses: value(
      1,
      list(endpointAddress),
      "Addresses that are ready and may receive traffic.",
      {
        listType: "atomic",
      },
    ),
    notReadyAddresses: value(
      2,
      list(endpointAddress),
      "Addresses that expose the ports but are not ready: they are still starting, or fail " +
        "their readiness or liveness check.",
      {
        listType: "atomic",
      },
    ),
    ports: value(3, list(endpointPort), "Ports available on every address.", {
      listType: "atomic",
    }),
  },
);

const endpointsV1 = v1(
  "Endpoints",
  "Endpoints lists the addresses and ports that implement a Service. Deprecated since v1.33: " +
    "use EndpointSlice.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name is that of the Service."),
    subsets: value(2, list(endpointSubset), "Groups of addresses with common ports.", {
      listType: "atomic",
    }),
  },
);

type Endpoints = Infer<typeof endpointsV1>;
type Address = Infer<typeof endpointAddress>;
type Port = Infer<typeof endpointPort>;

const protocols = ["SCTP", "TCP", "UDP"];

function checkAddress({ ip, hostname, nodeName }: Address, path: Path, problems: Problems): void {
  const ipPath = path.child("ip");
  const address = parseIp(ip);
  if (address === undefined) problems.invalid(ipPath, ip, notAnAddressMessage);
  if (hostname) {
    const messages = isDns1123Label(hostname);
    invalidEach(problems, path.child("hostname"), { value: hostname, messages });
  }
  if (nodeName !== undefined) {
    const messages = isDns1123Subdomain(nodeName);
    invalidEach(problems, path.child("nodeName"), { value: nodeName, messages });
  }
  if (address === undefined) {
    return problems.invalid(ipPath, ip, "must be a valid IP address");
  }
  const reason = unreachableReason(address, ip);
  if (reason !== undefined) problems.invalid(ipPath, ip, reason);
}

function checkPort(each: Port, path: Path, { isNamed, problems }: PortRules): void {
  const { name = "", port, protocol = "", appProtocol } = each;
  if (name === "") {
    if (isNamed) problems.required(path.child("name"));
  } else invalidEach(problems, path.child("name"), { value: name, messages: isDns1123Label(name) });
  invalidEach(problems, path.child("port"), { value: port, messages: isPortNumber(port) });
  if (protocol === "") problems.required(path.child("protocol"));
  else if (!protocols.includes(protocol)) {
    problems.notSupported(path.child("protocol"), protocol, protocols);
  }
  if (appProtocol === undefined) return;
  const messages = isQualifiedName(appProtocol);
  invalidEach(problems, path.child("appProtocol"), { value: appProtocol, messages });
}

interface PortRules {
  /** Whether a name is required, as there are several ports. */
  readonly isNamed: boolean;
  readonly problems: Problems;
}

function validate({ subsets = [] }: Endpoints, problems: Problems): void {
  for (const [index, subset] of subsets.entries()) {
    const path = Path.of("subsets").index(index);
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      problems.required(path, "must specify `addresses` or `notReadyAddresses`");
    }
    for (const [i, each] of addresses.entries()) {
      checkAddress(each, path.child("addresses").index(i), problems);
    }
    for (const [i, each] of notReadyAddresses.entries()) {
      checkAddress(each, path.child("notReadyAddresses").index(i), problems);
    }
    for (const [i, each] of ports.entries()) {
      const isNamed = ports.length > 1;
      checkPort(each, path.child("ports").index(i), { isNamed, problems });
    }
  }
}

const managedByLabel = "endpoints.{label}/managed-by";

/** Warnings about addresses, except in Endpoints that the controller manages. */
function warnings(
  { metadata, subsets = [] }: Endpoints,
  _old: Endpoints | undefined,
  { domain }: HookContext,
): readonly string[] {
  if (entry(metadata.labels, resolve(managedByLabel, domain)) === "endpoint-controller") return [];
  return subsets.flatMap((subset, index) =>
    (["addresses", "notReadyAddresses"] as const).flatMap((field) =>
      (subset[field] ?? []).flatMap(({ ip }, i) => {
        const warning = addressWarning(ip);
        return warning === undefined ? [] : [`subsets[${index}].${field}[${i}].ip: ${warning}`];
      }),
    ),
  );
}

const maxPrintedAddresses = 3;

/** Table cell such as `10.0.0.1:80,10.0.0.2:80`: the first three and the number of others. */
function describe(subsets: Endpoints["subsets"]): string {
  if (subsets === undefined || subsets.length === 0) return "<none>";
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port))),
  );
  const more = all.length - maxPrintedAddresses;
  return all.slice(0, maxPrintedAddresses).join(",") + (more > 0 ? ` + ${more} more...` : "");
}

function hostPort(ip: string, port: number): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

export const endpoints = kind(endpointsV1, {
  group: "",
  kind: "Endpoints",
  listKind: "EndpointsList",
  plural: "endpoints",
  singular: "endpoints",
  shortNames: ["ep"],
  scope: "Namespaced",
  versions: [
    {
      version: "v1",
      struct: endpointsV1,
      onByDefault: true,
      convert: "hub",
      deprecationWarning:
        "v1 Endpoints is deprecated in v1.33+; use discovery.{api}/v1 EndpointSlice",
    },
  ],
  storagePrefix: "services/endpoints",
  rules: { metadataOnUpdate: { "": ["change", "object"] }, createOnUpdate: true },
  hooks: { validate, warnings },
  columns: [nameColumn, column("Endpoints", "Addresses and ports of the endpoints."), ageColumn],
  row: (object, context) => [nameOf(object), describe(object.subsets), ageOf(object, context)],
});
