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
import { intOrString, isPortName, isPortNumber, kind, labelSelector, objectMeta } from "#meta";
import { checkLabelSelector, formatLabelSelector } from "../label-selector.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { invalidEach, unsupported } from "../strategy.ts";
import { parseCidr } from "#base";
import { isStrictSubset, networkWarnings, notANetworkMessage } from "./ip.ts";

const v1 = structs("api/networking/v1");

const ipBlock = v1("IPBlock", "Range of IP addresses, minus exceptions.", {
  cidr: required(
    1,
    string,
    "Range in CIDR notation, for example `192.168.1.0/24` or `2001:db8::/64`.",
  ),
  except: value(
    2,
    list(string),
    "Ranges within cidr to leave out, in CIDR notation. Each must be strictly smaller than cidr.",
    { listType: "atomic" },
  ),
});

const networkPolicyPort = v1("NetworkPolicyPort", "Port or range of ports that traffic may use.", {
  protocol: pointer(
    1,
    named("v1.Protocol", "TCP", "UDP", "SCTP"),
    "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.",
    { default: "TCP" },
  ),
  port: pointer(
    2,
    intOrString,
    "Port number, or name of a container port. When absent, every port of the protocol matches.",
  ),
  endPort: pointer(
    3,
    int32,
    "Last port of a range that starts at port. Requires a numeric port that is not greater.",
  ),
});

const networkPolicyPeer = v1(
  "NetworkPolicyPeer",
  "Other side of a connection: pods, namespaces or an IP range. ipBlock is mutually exclusive " +
    "with the selectors.",
  {
    podSelector: pointer(
      1,
      labelSelector,
      "Selects pods; {} selects all. Combined with namespaceSelector it applies to the " +
        "selected namespaces, alone to the namespace of the policy.",
    ),
    namespaceSelector: pointer(
      2,
      labelSelector,
      "Selects namespaces by label; {} selects all. Alone it allows every pod in them, with " +
        "podSelector only the pods that both select.",
    ),
    ipBlock: pointer(
      3,
      ipBlock,
      "Range of addresses, mainly for peers outside the cluster. Mutually exclusive with both " +
        "selectors.",
    ),
  },
);

const networkPolicyIngressRule = v1(
  "NetworkPolicyIngressRule",
  "Incoming traffic to allow: it must match both ports and from.",
  {
    ports: value(
      1,
      list(networkPolicyPort),
      "Ports of the selected pods that may be reached. Absent or empty allows all ports.",
      {
        listType: "atomic",
      },
    ),
    from: value(
      2,
      list(networkPolicyPeer),
      "Sources that may connect. Absent or empty allows all sources.",
      {
        listType: "atomic",
      },
    ),
  },
);

const networkPolicyEgressRule = v1(
  "NetworkPolicyEgressRule",
  "Outgoing traffic to allow: it must match both ports and to.",
  {
    ports: value(
      1,
      list(networkPolicyPort),
      "Destination ports that may be used. Absent or empty allows all ports.",
      {
        listType: "atomic",
      },
    ),
    to: value(
      2,
      list(networkPolicyPeer),
      "Destinations that may be reached. Absent or empty allows all destinations.",
      {
        listType: "atomic",
      },
    ),
  },
);

const networkPolicySpec = v1("NetworkPolicySpec", "Desired traffic rules for a set of pods.", {
  podSelector: required(
    1,
    labelSelector,
    "Pods in the namespace that the policy isolates; {} selects all of them. Policies that " +
      "select the same pod add up.",
    { openApi: { required: false } },
  ),
  ingress: value(
    2,
    list(networkPolicyIngressRule),
    "Incoming traffic to allow. Empty allows none, unless another policy does. Only " +
      "effective when policyTypes includes Ingress.",
    {
      listType: "atomic",
    },
  ),
  egress: value(
    3,
    list(networkPolicyEgressRule),
    "Outgoing traffic to allow. Empty allows none, unless another policy does. Only " +
      "effective when policyTypes includes Egress.",
    {
      listType: "atomic",
    },
  ),
  policyTypes: value(
    4,
    list(named("v1.PolicyType", "Ingress", "Egress")),
    "Directions that the policy restricts: Ingress, Egress. Defaults to Ingress, plus " +
      "Egress when egress has rules. To deny all outgoing traffic, list Egress explicitly " +
      "and leave egress empty.",
    { listType: "atomic" },
  ),
});

const networkPolicyV1 = v1(
  "NetworkPolicy",
  "NetworkPolicy restricts which network traffic pods may receive and send. It takes " +
    "effect only if the network plugin supports it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, networkPolicySpec, "Selected pods and the traffic allowed for them."),
  },
);

type NetworkPolicy = Infer<typeof networkPolicyV1>;
type Spec = NetworkPolicy["spec"];
type Port = Infer<typeof networkPolicyPort>;
type Peer = Infer<typeof networkPolicyPeer>;
type Block = Infer<typeof ipBlock>;

/** In the order in which messages list them. */
const protocols = ["TCP", "UDP", "SCTP"];
const directions = ["Ingress", "Egress"];

/** Defaults policyTypes: Ingress, and Egress if there are egress rules. */
function defaultPolicyTypes({ spec }: NetworkPolicy): void {
  if ((spec.policyTypes ?? []).length > 0) return;
  spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
}

function checkPort({ protocol, port, endPort }: Port, path: Path, problems: Problems): void {
  const [portPath, endPath] = [path.child("port"), path.child("endPort")];
  if (protocol !== undefined && !protocols.includes(protocol)) {
    unsupported(problems, path.child("protocol"), { value: protocol, supported: protocols });
  }
  if (typeof port === "number") {
    invalidEach(problems, portPath, { value: port, messages: isPortNumber(port) });
    if (endPort === undefined) return;
    // The reported value is that of the port, as in Kubernetes.
    if (endPort < port) problems.invalid(endPath, port, "must be greater than or equal to `port`");
    invalidEach(problems, endPath, { value: endPort, messages: isPortNumber(endPort) });
    return;
  }
  if (endPort !== undefined) {
    const state = port === undefined ? "not specified" : "non-numeric";
    problems.invalid(endPath, endPort, `may not be specified when \`port\` is ${state}`);
  }
  if (port !== undefined) {
    invalidEach(problems, portPath, { value: port, messages: isPortName(port) });
  }
}

function checkBlock({ cidr, except = [] }: Block, path: Path, problems: Problems): void {
  const cidrPath = path.child("cidr");
  if (cidr === "") return problems.required(cidrPath);
  const network = parseCidr(cidr);
  if (network === undefined) return problems.invalid(cidrPath, cidr, notANetworkMessage);
  for (const [index, text] of except.entries()) {
    const exception = parseCidr(text);
    const exceptPath = path.child("except").index(index);
    if (exception === undefined) problems.invalid(exceptPath, text, notANetworkMessage);
    else if (!isStrictSubset(exception, network)) {
      problems.invalid(exceptPath, text, "must be a strict subset of `cidr`");
    }
  }
}

function checkPeer(peer: Peer, path: Path, problems: Problems): void {
  const { podSelector, namespaceSelector, ipBlock: block } = peer;
  checkLabelSelector(podSelector, path.child("podSelector"), problems);
  checkLabelSelector(namespaceSelector, path.child("namespaceSelector"), problems);
  if (block !== undefined) checkBlock(block, path.child("ipBlock"), problems);
  const hasSelector = podSelector !== undefined || namespaceSelector !== undefined;
  if (!hasSelector && block === undefined) problems.required(path, "must specify a peer");
  else if (hasSelector && block !== undefined) {
    problems.forbidden(path, "may not specify both ipBlock and another peer");
  }
}

interface Rule {
  readonly path: Path;
  readonly ports: readonly Port[];
  /** Name of the peers' field: `from` or `to`. */
  readonly side: string;
  readonly peers: readonly Peer[];
}

/** Rules of both directions, ingress first. */
function rulesOf({ ingress = [], egress = [] }: Spec): readonly Rule[] {
  return [
    ...ingress.map(({ ports = [], from: peers = [] }, index) => {
      return { path: Path.of("spec.ingress").index(index), ports, side: `from`, peers };
    }),
    ...egress.map(({ ports = [], to: peers = [] }, index) => {
      return { path: Path.of("spec.egress").index(index), ports, side: "to", peers };
    }),
  ];
}

function validate({ spec }: NetworkPolicy, problems: Problems): void {
  checkLabelSelector(spec.podSelector, Path.of("spec.podSelector"), problems);
  for (const { path, ports, side, peers } of rulesOf(spec)) {
    for (const [index, port] of ports.entries()) {
      checkPort(port, path.child("ports").index(index), problems);
    }
    for (const [index, peer] of peers.entries()) {
      checkPeer(peer, path.child(side).index(index), problems);
    }
  }
  const path = Path.of("spec.policyTypes");
  const types = spec.policyTypes ?? [];
  if (types.length > directions.length) {
    return problems.invalid(path, types, "may not specify more than two policyTypes");
  }
  for (const [index, type] of types.entries()) {
    if (directions.includes(type)) continue;
    unsupported(problems, path.index(index), { value: type, supported: directions });
  }
}

/** Warnings about CIDRs in non-standard spellings. */
function warnings({ spec }: NetworkPolicy): readonly string[] {
  const found: string[] = [];
  const look = (text: string, path: Path) => {
    for (const warning of networkWarnings(text)) found.push(`${path}: ${warning}`);
  };
  for (const { path, side, peers } of rulesOf(spec)) {
    for (const [index, { ipBlock: block }] of peers.entries()) {
      const ipBlockPath = path.child(side).index(index).child("ipBlock");
      if (block === undefined) continue;
      look(block.cidr, ipBlockPath.child("cidr"));
      block.except?.forEach((text, i) => look(text, ipBlockPath.child("except").index(i)));
    }
  }
  return found;
}

export const networkPolicy = kind(networkPolicyV1, {
  group: "networking.{api}",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  shortNames: ["netpol"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: networkPolicyV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["object", "change"] }, generation: true },
  hooks: {
    default: defaultPolicyTypes,
    validate,
    // Kubernetes validates a changed policy twice and reports each error twice.
    validateUpdate: (object, _old, problems) => {
      validate(object, problems);
      validate(object, problems);
    },
    warnings,
  },
  columns: [
    nameColumn,
    column("Pod-Selector", "Selector of the pods that the policy isolates."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    formatLabelSelector(object.spec.podSelector),
    ageOf(object, context),
  ],
});
