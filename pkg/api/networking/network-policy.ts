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

const ipBlock = v1("IPBlock", "Range of IP addresses in CIDR notation, with exceptions.", {
  cidr: required(
    1,
    string,
    "IP range in CIDR notation, for example `192.0.2.0/24` or `2001:db8::/64`.",
  ),
  except: value(
    2,
    list(string),
    "IP ranges to exclude, in CIDR notation. Each must be within cidr, and smaller.",
    { listType: "atomic" },
  ),
});

const networkPolicyPort = v1(
  "NetworkPolicyPort",
  "Port or range of ports to which traffic is allowed.",
  {
    protocol: pointer(
      1,
      named("v1.Protocol", "TCP", "UDP", "SCTP"),
      "Transport protocol: one of TCP, UDP, SCTP. Defaults to TCP.",
      { default: "TCP" },
    ),
    port: pointer(
      2,
      intOrString,
      "Port number, or name of a port of the pods. If absent, all ports of the protocol match.",
    ),
    endPort: pointer(
      3,
      int32,
      "Last port of the range that starts at port. Requires port to be a number that is not greater.",
    ),
  },
);

const networkPolicyPeer = v1(
  "NetworkPolicyPeer",
  "Peer from or to which traffic is allowed. ipBlock is mutually exclusive with the selectors.",
  {
    podSelector: pointer(
      1,
      labelSelector,
      "Label query over pods, in the namespaces that namespaceSelector selects, otherwise in " +
        "that of the policy. {} selects all.",
    ),
    namespaceSelector: pointer(
      2,
      labelSelector,
      "Label query over namespaces: all of their pods, or those that podSelector selects. {} " +
        "selects all.",
    ),
    ipBlock: pointer(
      3,
      ipBlock,
      "Range of IP addresses, usually outside the cluster. Mutually exclusive with both selectors.",
    ),
  },
);

const networkPolicyIngressRule = v1(
  "NetworkPolicyIngressRule",
  "Ingress rule: allows incoming traffic that matches both ports and from.",
  {
    ports: value(
      1,
      list(networkPolicyPort),
      "Ports of the selected pods to which traffic is allowed. If empty, all ports.",
      {
        listType: "atomic",
      },
    ),
    from: value(
      2,
      list(networkPolicyPeer),
      "Sources from which traffic is allowed. If empty, all sources.",
      {
        listType: "atomic",
      },
    ),
  },
);

const networkPolicyEgressRule = v1(
  "NetworkPolicyEgressRule",
  "Egress rule: allows outgoing traffic that matches both ports and to.",
  {
    ports: value(
      1,
      list(networkPolicyPort),
      "Destination ports to which traffic is allowed. If empty, all ports.",
      {
        listType: "atomic",
      },
    ),
    to: value(
      2,
      list(networkPolicyPeer),
      "Destinations to which traffic is allowed. If empty, all destinations.",
      {
        listType: "atomic",
      },
    ),
  },
);

const networkPolicySpec = v1("NetworkPolicySpec", "Specification of a NetworkPolicy.", {
  podSelector: required(
    1,
    labelSelector,
    "Pods to which the policy applies; {} selects all pods in the namespace. Rules of several " +
      "policies for the same pod are additive.",
    { openApi: { required: false } },
  ),
  ingress: value(
    2,
    list(networkPolicyIngressRule),
    "Ingress rules: incoming traffic that is allowed. If empty, no incoming traffic is allowed " +
      "unless another policy allows it. Only used if policyTypes includes Ingress.",
    {
      listType: "atomic",
    },
  ),
  egress: value(
    3,
    list(networkPolicyEgressRule),
    "Egress rules: outgoing traffic that is allowed. If empty, no outgoing traffic is allowed " +
      "unless another policy allows it. Only used if policyTypes includes Egress.",
    {
      listType: "atomic",
    },
  ),
  policyTypes: value(
    4,
    list(named("v1.PolicyType", "Ingress", "Egress")),
    "Directions of traffic that the policy restricts: Ingress, Egress. Defaults to Ingress, " +
      "plus Egress if there are egress rules. To deny all outgoing traffic, list Egress " +
      "without any egress rule.",
    { listType: "atomic" },
  ),
});

const networkPolicyV1 = v1(
  "NetworkPolicy",
  "NetworkPolicy restricts the network traffic from and to a set of pods. It only takes effect " +
    "if the network plugin implements it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, networkPolicySpec, "Selected pods, and the ingress and egress rules for them."),
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
  rules: { metadataOnUpdate: { "": ["object", "change"] }, generation: "exact" },
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
