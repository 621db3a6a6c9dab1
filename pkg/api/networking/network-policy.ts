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
import { isStrictSubset, networkWarning, NOT_A_NETWORK, parseNetwork } from "./ip.ts";

const v1 = structs("api/networking/v1");

const ipBlock = v1("IPBlock", "A network, with exceptions.", {
  cidr: required(1, string, "The network, as in `192.168.1.0/24` or `2001:db8::/64`."),
  except: value(2, list(string), "Networks within it that do not count.", { listType: "atomic" }),
});

const networkPolicyPort = v1("NetworkPolicyPort", "A port or range of ports.", {
  protocol: pointer(
    1,
    named("v1.Protocol", "TCP", "UDP", "SCTP"),
    "TCP, UDP or SCTP; TCP unless set.",
    { default: "TCP" },
  ),
  port: pointer(2, intOrString, "Number or name of the port; absent means all."),
  endPort: pointer(3, int32, "Last port of a range that begins with the number in `port`."),
});

const networkPolicyPeer = v1("NetworkPolicyPeer", "Who may be on the other side.", {
  podSelector: pointer(
    1,
    labelSelector,
    "Pods, in the namespaces selected or else in that of the policy.",
  ),
  namespaceSelector: pointer(
    2,
    labelSelector,
    "Namespaces; with podSelector only the selected pods in them.",
  ),
  ipBlock: pointer(3, ipBlock, "Addresses; alone only."),
});

const networkPolicyIngressRule = v1("NetworkPolicyIngressRule", "Traffic that may come in.", {
  ports: value(1, list(networkPolicyPort), "To these ports; empty means all.", {
    listType: "atomic",
  }),
  from: value(2, list(networkPolicyPeer), "From these peers; empty means all.", {
    listType: "atomic",
  }),
});

const networkPolicyEgressRule = v1("NetworkPolicyEgressRule", "Traffic that may go out.", {
  ports: value(1, list(networkPolicyPort), "To these ports; empty means all.", {
    listType: "atomic",
  }),
  to: value(2, list(networkPolicyPeer), "To these peers; empty means all.", {
    listType: "atomic",
  }),
});

const networkPolicySpec = v1("NetworkPolicySpec", "Which pods may talk to whom.", {
  podSelector: required(
    1,
    labelSelector,
    "The pods that the policy is for; empty selects all of the namespace.",
  ),
  ingress: value(2, list(networkPolicyIngressRule), "What may come in; nothing else may.", {
    listType: "atomic",
  }),
  egress: value(3, list(networkPolicyEgressRule), "What may go out; nothing else may.", {
    listType: "atomic",
  }),
  policyTypes: value(
    4,
    list(named("v1.PolicyType", "Ingress", "Egress")),
    "Directions that the policy is about: Ingress, Egress.",
    { listType: "atomic" },
  ),
});

const networkPolicyV1 = v1("NetworkPolicy", "What traffic pods may send and receive.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, networkPolicySpec, "Which pods may talk to whom."),
});

type NetworkPolicy = Infer<typeof networkPolicyV1>;
type Spec = NetworkPolicy["spec"];
type Port = Infer<typeof networkPolicyPort>;
type Peer = Infer<typeof networkPolicyPeer>;
type Block = Infer<typeof ipBlock>;

/** In the order in which messages list them. */
const protocols = ["TCP", "UDP", "SCTP"];
const directions = ["Ingress", "Egress"];

/** The directions follow from the rules: a policy is about egress only if it has egress rules. */
function fillDirections({ spec }: NetworkPolicy): void {
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
    // The value shown is that of the port: so does Kubernetes.
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
  const place = path.child("cidr");
  if (cidr === "") return problems.required(place);
  const network = parseNetwork(cidr);
  if (network === undefined) return problems.invalid(place, cidr, NOT_A_NETWORK);
  for (const [index, text] of except.entries()) {
    const exception = parseNetwork(text);
    const here = path.child("except").index(index);
    if (exception === undefined) problems.invalid(here, text, NOT_A_NETWORK);
    else if (!isStrictSubset(exception, network)) {
      problems.invalid(here, text, "must be a strict subset of `cidr`");
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
  /** `from` or `to`. */
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

/** Odd spellings of networks. */
function warnings({ spec }: NetworkPolicy): readonly string[] {
  const found: string[] = [];
  const look = (text: string, path: Path) => {
    const warning = networkWarning(text);
    if (warning !== undefined) found.push(`${path}: ${warning}`);
  };
  for (const { path, side, peers } of rulesOf(spec)) {
    for (const [index, { ipBlock: block }] of peers.entries()) {
      const place = path.child(side).index(index).child("ipBlock");
      if (block === undefined) continue;
      look(block.cidr, place.child("cidr"));
      block.except?.forEach((text, i) => look(text, place.child("except").index(i)));
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
  rules: { generation: true, metadataCheckedAgain: true },
  hooks: {
    default: fillDirections,
    validate,
    // Kubernetes checks a changed policy twice, and tells of everything twice.
    validateUpdate: (object, _old, problems) => {
      validate(object, problems);
      validate(object, problems);
    },
    warnings,
  },
  columns: [nameColumn, column("Pod-Selector", "The pods that the policy is for."), ageColumn],
  row: (object, context) => [
    nameOf(object),
    formatLabelSelector(object.spec.podSelector),
    ageOf(object, context),
  ],
});
