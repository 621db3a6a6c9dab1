import { deepClone, networkOf, parseCidr } from "#base";
import { DecodeFault, fromJson, JsonFault, parseJson, Path, type Problems } from "#schema";
import { type HookContext, kind, kubernetes } from "#meta";
import { networkWarnings, notANetworkMessage } from "../../networking/ip.ts";
import { goShape } from "../../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../../printing.ts";
import { entry, duplicateIndexes, sortedKeys } from "../../strategy.ts";
import { type Node, nodeAddress, nodeV1, type Taint, taint } from "./node-types.ts";
import { nodeProxyOptions } from "../pod/pod-options.ts";
import { roundAmounts } from "../shared/resource-amounts.ts";
import { checkResourceQuantity } from "../shared/resource-names.ts";
import { checkTaints } from "./taints.ts";

const rangesPath = Path.of("spec.podCIDRs");
const annotationsPath = Path.of("metadata.annotations");

/** Annotation that held taints before the field existed. */
const taintsAnnotation = `scheduler.alpha.${kubernetes.label}/taints`;

/** Synchronizes `podCIDR` and `podCIDRs`; where they differ, `podCIDR` takes precedence. */
function syncPodCIDRs({ spec }: Node): void {
  const { podCIDR = "", podCIDRs: [first] = [] } = spec;
  if (podCIDR === "") {
    if (first !== undefined) spec.podCIDR = first;
  } else if (podCIDR !== first) spec.podCIDRs = [podCIDR];
}

function fillDefaults(node: Node): void {
  const { status } = node;
  syncPodCIDRs(node);
  roundAmounts(status.capacity);
  roundAmounts(status.allocatable);
  // Readers see the default for an empty map, too, which is stored as absent.
  if (Object.keys(status.allocatable ?? {}).length === 0 && status.capacity !== undefined) {
    status.allocatable = deepClone(status.capacity);
  }
}

/** Drops the removed dynamic kubelet configuration, unless the old object has it. */
function dropConfiguration({ spec, status }: Node, old: Node | undefined): void {
  if (old?.spec.configSource === undefined) delete spec.configSource;
  if (old?.status.config === undefined) delete status.config;
}

function prepareUpdate(node: Node, old: Node, context: HookContext): void {
  if (context.subresource === "status") node.spec = old.spec;
  else node.status = old.status;
  dropConfiguration(node, old);
}

function checkOldTaints({ metadata }: Node, problems: Problems): void {
  const text = entry(metadata.annotations, taintsAnnotation);
  if (!text) return;
  const all = taintsOfAnnotation(text);
  if (typeof all === "string") {
    return problems.invalid(annotationsPath, taintsAnnotation, all);
  }
  checkTaints(all, annotationsPath.child(taintsAnnotation), problems);
}

/** Taints from the annotation, or the error message of Go's decoder. */
function taintsOfAnnotation(text: string): readonly Taint[] | string {
  try {
    const { value } = parseJson(text);
    if (value === null) return [];
    if (Array.isArray(value)) return value.map((each) => fromJson(taint, each ?? {}));
    return `json: cannot unmarshal ${goJsonType(value)} into Go value of type []v1.Taint`;
  } catch (error) {
    if (error instanceof JsonFault || error instanceof DecodeFault) return error.message;
    throw error;
  }
}

function goJsonType(value: unknown): string {
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

function checkResources({ status }: Node, problems: Problems): void {
  for (const field of ["capacity", "allocatable"] as const) {
    for (const name of sortedKeys(status[field])) {
      const quantity = entry(status[field], name) ?? "0";
      checkResourceQuantity({ name, quantity }, Path.of("status").child(field, name), problems);
    }
  }
}

function checkRanges({ spec: { podCIDRs = [] } }: Node, problems: Problems): void {
  const networks = podCIDRs.map(parseCidr);
  for (const [index, network] of networks.entries()) {
    if (network !== undefined) continue;
    problems.invalid(rangesPath.index(index), podCIDRs[index], notANetworkMessage);
  }
  if (podCIDRs.length < 2) return;
  const malformed = networks.indexOf(undefined);
  if (malformed >= 0) {
    const text = podCIDRs[malformed];
    // Kubernetes prints the parsed network, which is nil, and the reason.
    const reason = `invalid CIDR[${malformed}]: <nil> (invalid CIDR address: ${text})`;
    const detail = `invalid PodCIDRs. failed to check with dual stack with error:${reason}`;
    problems.add({ type: "InternalError", field: rangesPath.toString(), detail });
  }
  const sizes = new Set(networks.map((network) => network && networkOf(network).address.length));
  if (malformed < 0 && sizes.size === 2 && podCIDRs.length === 2) return;
  const detail = "may specify no more than one CIDR for each IP family";
  problems.invalid(rangesPath, podCIDRs, detail);
}

function validate(node: Node, problems: Problems): void {
  checkOldTaints(node, problems);
  checkTaints(node.spec.taints ?? [], Path.of("metadata.taints"), problems);
  checkResources(node, problems);
  checkRanges(node, problems);
}

/** Validates updates of both the main resource and the status. */
function checkUpdate(node: Node, old: Node, problems: Problems): void {
  checkResources(node, problems);
  checkAddresses(node, problems);
  const spec = Path.of("spec");
  const [now = [], before = []] = [node.spec.podCIDRs, old.spec.podCIDRs];
  const changes =
    now.length === before.length ? before.filter((each, index) => each !== now[index]).length : 1;
  for (let i = 0; before.length > 0 && i < changes; i++) {
    const detail = 'node updates may not change podCIDR except from "" to valid';
    problems.forbidden(rangesPath, detail);
  }
  if (old.spec.providerID && node.spec.providerID !== old.spec.providerID) {
    const detail = 'node updates may not change providerID except from "" to valid';
    problems.forbidden(spec.child("providerID"), detail);
  }
  checkTaints(node.spec.taints ?? [], Path.of("metadata.taints"), problems);
  if ((node.spec.externalID ?? "") !== (old.spec.externalID ?? "")) {
    problems.forbidden(spec.child("externalID"), "may not be updated");
  }
}

function checkAddresses({ status: { addresses = [] } }: Node, problems: Problems): void {
  const repeated = duplicateIndexes(addresses, ({ type, address }) =>
    JSON.stringify([type, address]),
  );
  for (const [index, { type, address }] of addresses.entries()) {
    if (!repeated.has(index)) continue;
    const goAddress = goShape(nodeAddress, { type, address });
    problems.duplicate(Path.of("status.addresses").index(index), goAddress);
  }
}

function warnings({ spec }: Node): readonly string[] {
  const found: string[] = [];
  if (spec.configSource !== undefined) found.push("spec.configSource: the feature is removed");
  if (spec.externalID) {
    found.push("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  }
  for (const [index, text] of (spec.podCIDRs ?? []).entries()) {
    for (const warning of networkWarnings(text)) {
      found.push(`${rangesPath.index(index)}: ${warning}`);
    }
  }
  return found;
}

/** Table cell of the status: `Ready`, `NotReady,SchedulingDisabled`, `Unknown`. */
function statusCell({ spec, status }: Node): string {
  const ready = status.conditions?.findLast(({ type }) => type === "Ready")?.status;
  const word = ready === undefined ? "Unknown" : ready === "True" ? "Ready" : "NotReady";
  return spec.unschedulable ? `${word},SchedulingDisabled` : word;
}

const rolePrefix = `node-role.${kubernetes.label}/`;

function roles({ metadata }: Node): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(rolePrefix)) found.add(key.slice(rolePrefix.length));
    else if (key === `${kubernetes.label}/role`) found.add(value);
  }
  found.delete("");
  return [...found].sort().join(",") || "<none>";
}

function addressOf({ status }: Node, wanted: string): string {
  return status.addresses?.find(({ type }) => type === wanted)?.address ?? "<none>";
}

export const node = kind(nodeV1, {
  group: "",
  kind: "Node",
  plural: "nodes",
  shortNames: ["no"],
  scope: "Cluster",
  versions: [{ version: "v1", struct: nodeV1, onByDefault: true, convert: "hub" }],
  storagePrefix: "minions",
  subresources: [
    {
      name: "proxy",
      verbs: ["create", "delete", "get", "patch", "update"],
      represents: { group: "", version: "v1", kind: "NodeProxyOptions" },
      connects: "proxy",
      options: nodeProxyOptions,
    },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  rules: { metadataOnUpdate: { "": ["object", "change"] } },
  hooks: {
    default: fillDefaults,
    prepareCreate: (object) => dropConfiguration(object, undefined),
    prepareUpdate,
    validate,
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "") validate(object, problems);
      checkUpdate(object, old, problems);
    },
    warnings: (object, _old, { subresource }) => (subresource === "" ? warnings(object) : []),
  },
  columns: [
    nameColumn,
    column("Status", "Whether the node is ready and schedulable."),
    column("Roles", "Roles of the node, from its labels."),
    ageColumn,
    column("Version", "Version of the kubelet."),
    column("Internal-IP", "IP address within the cluster.", { priority: 1 }),
    column("External-IP", "IP address outside the cluster.", { priority: 1 }),
    column("OS-Image", "Operating system release.", { priority: 1 }),
    column("Kernel-Version", "Version of the kernel.", { priority: 1 }),
    column("Container-Runtime", "Container runtime and its version.", { priority: 1 }),
  ],
  row: (object, context) => {
    const info = object.status.nodeInfo;
    return [
      nameOf(object),
      statusCell(object),
      roles(object),
      ageOf(object, context),
      info.kubeletVersion,
      addressOf(object, "InternalIP"),
      addressOf(object, "ExternalIP"),
      info.osImage || "<unknown>",
      info.kernelVersion || "<unknown>",
      info.containerRuntimeVersion || "<unknown>",
    ];
  },
  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec.unschedulable ?? false) },
});
