/** Pod admission by the kubelet, which repeats checks of the scheduler. */
import { isTolerated, type Node, type Pod, requiredNodeAffinity } from "#kinds";
import { type Domain, resolve } from "#meta";
import type { PodFailure } from "../lifecycle/container-ends.ts";
import { isCriticalPod, isStaticPod, mayPreempt } from "./critical-pods.ts";
import type { NodeAllocation } from "./node-allocations.ts";
import { podRequests, type PodRequests, wholeAmount } from "./pod-requests.ts";
import { podsToPreempt, type Shortage } from "./preemption.ts";
import { forbiddenSysctl } from "./sysctls.ts";

export interface AdmissionInput {
  /** UID by which the node knows the pod. */
  readonly uid: string;
  readonly node: Node;
  readonly allocation: NodeAllocation;
  /** Active pods of the node, with their allocated resources. */
  readonly others: () => readonly Pod[];
  readonly domain: Domain;
}

/** Result of a pod's admission. */
export interface AdmissionResult {
  /** Reason and message of the rejection, as in the kubelet; undefined = admitted. */
  readonly refusal?: PodFailure | undefined;
  /** Pods to terminate in favor of a critical pod. */
  readonly preempted: readonly Pod[];
}

/** Runs the admit handlers of a kubelet with default settings, in their order. */
export function admit(pod: Pod, input: AdmissionInput): AdmissionResult {
  const { node, domain } = input;
  const refusal =
    pressureOn(pod, node, domain) ?? sysctlRefusal(pod) ?? unsupported(pod, node, domain);
  if (refusal !== undefined) return { refusal, preempted: [] };
  const requests = podRequests(pod);
  const shortages = shortagesFor(requests, input);
  const mismatch = mismatchOf(pod, requests, input);
  if (!isCriticalPod(pod, domain)) {
    return { refusal: shortageRefusal(shortages) ?? mismatch, preempted: [] };
  }
  if (mismatch !== undefined || shortages.length === 0) return { refusal: mismatch, preempted: [] };
  return preempt(pod, shortages, input);
}

/** Message of an infeasible resize, which exceeds the node's allocatable resources; undefined = feasible. */
export function infeasibleResize(pod: Pod, { status }: Node): string | undefined {
  const { amounts } = podRequests(pod);
  for (const name of ["memory", "cpu"]) {
    const wanted = amounts.get(name) ?? 0n;
    const capacity = wholeAmount(name, status?.allocatable?.[name]);
    if (wanted <= capacity) continue;
    const compared = `${name}, requested: ${wanted}, capacity: ${capacity}`;
    return `Node didn't have enough capacity: ${compared}`;
  }
  return undefined;
}

/** Node pressure: memory pressure rejects best-effort pods, other pressure all but critical ones. */
function pressureOn(pod: Pod, { status }: Node, domain: Domain): PodFailure | undefined {
  const found = ["MemoryPressure", "DiskPressure", "PIDPressure"].filter((type) =>
    status?.conditions?.some((each) => each.type === type && each.status === "True"),
  );
  if (found.length === 0 || isCriticalPod(pod, domain)) return undefined;
  const isMemoryOnly = found.length === 1 && found[0] === "MemoryPressure";
  if (isMemoryOnly && pod.status?.qosClass !== "BestEffort") return undefined;
  const taint = { key: resolve("node.{label}/memory-pressure", domain), effect: "NoSchedule" };
  const { tolerations = [] } = pod.spec ?? {};
  if (isMemoryOnly && isTolerated(taint, tolerations)) return undefined;
  return { reason: "Evicted", message: `The node had condition: [${found.join(" ")}]. ` };
}

function sysctlRefusal({ spec = {} }: Pod): PodFailure | undefined {
  const message = forbiddenSysctl(spec);
  return message === undefined ? undefined : { reason: "SysctlForbidden", message };
}

/** Rejects pods for another OS, or with features that the container runtime lacks. */
function unsupported(
  { metadata: { labels }, spec }: Pod,
  { status }: Node,
  domain: Domain,
): PodFailure | undefined {
  const name = resolve("{label}/os", domain);
  const wanted = labels?.[name];
  if (wanted !== undefined && wanted !== "linux") {
    const message = `Failed to admit pod as the \`${name}\` label doesn't match node label`;
    return { reason: "PodOSSelectorNodeLabelDoesNotMatch", message };
  }
  if (spec?.os !== undefined && spec.os.name !== "linux") {
    const message = "Failed to admit pod as the OS field doesn't match node OS";
    return { reason: "PodOSNotSupported", message };
  }
  const policy = spec?.securityContext?.supplementalGroupsPolicy;
  if (policy !== "Strict" || status?.features?.supplementalGroupsPolicy === true) return undefined;
  const message = `SupplementalGroupsPolicy=${policy} is not supported in this node`;
  return { reason: "SupplementalGroupsPolicyNotSupported", message };
}

/** An insufficient resource with its amounts. */
interface Insufficiency extends Shortage {
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

const commonResources = ["cpu", "memory", "ephemeral-storage"];

/** Insufficient resources in the scheduler's order: pods, standard resources, others. */
function shortagesFor(
  { amounts }: PodRequests,
  { uid, node, allocation, domain }: AdmissionInput,
): readonly Insufficiency[] {
  const { allocatable = {} } = node.status ?? {};
  const others = [...amounts.keys()].filter((name) => !commonResources.includes(name)).sort();
  // Extended resources that the node does not have are cluster-level.
  const known = others.filter((name) => name in allocatable || !isExtended(name, domain));
  const check = (resource: string, requested: bigint, used: bigint): readonly Insufficiency[] => {
    const capacity = wholeAmount(resource, allocatable[resource]);
    const missing = requested + used - capacity;
    return requested > 0n && missing > 0n ? [{ resource, missing, requested, used, capacity }] : [];
  };
  return [
    ...check("pods", 1n, BigInt(allocation.countExcluding(uid))),
    ...[...commonResources, ...known].flatMap((name) =>
      check(name, amounts.get(name) ?? 0n, allocation.usedExcluding(uid, name)),
    ),
  ];
}

/** Whether a resource name is in a domain other than that of Kubernetes. */
function isExtended(resource: string, domain: Domain): boolean {
  return resource.includes("/") && !resource.includes(resolve("{label}/", domain));
}

function shortageRefusal([first]: readonly Insufficiency[]): PodFailure | undefined {
  if (first === undefined) return undefined;
  const { resource, requested, used, capacity } = first;
  const message =
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, ` +
    `capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message };
}

/** Preempts pods for a critical pod that lacks resources only. */
function preempt(
  pod: Pod,
  shortages: readonly Shortage[],
  { others, domain }: AdmissionInput,
): AdmissionResult {
  const candidates = others().filter((each) => mayPreempt(pod, each, domain));
  const preempted = podsToPreempt(candidates, shortages);
  if (typeof preempted !== "string") return { preempted };
  const message =
    "Unexpected error while attempting to recover from admission failure: preemption: error " +
    `finding a set of pods to preempt: ${preempted}`;
  return { refusal: { reason: "UnexpectedAdmissionError", message }, preempted: [] };
}

function mismatchOf(
  pod: Pod,
  { hostPorts }: PodRequests,
  { uid, node, allocation, domain }: AdmissionInput,
): PodFailure | undefined {
  if (!requiredNodeAffinity(pod)(node)) {
    return predicateFailure("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  if (allocation.hasConflictExcluding(uid, hostPorts)) {
    const description = "node(s) didn't have free ports for the requested pod ports";
    return predicateFailure("NodePorts", description);
  }
  const { taints = [] } = node.spec ?? {};
  const { tolerations = [] } = pod.spec ?? {};
  const isTainted = taints.some(
    (taint) => taint.effect === "NoExecute" && !isTolerated(taint, tolerations),
  );
  if (!isTainted || isStaticPod(pod, domain)) return undefined;
  return predicateFailure("TaintToleration", "node(s) had taints that the pod didn't tolerate");
}

function predicateFailure(name: string, description: string): PodFailure {
  return { reason: name, message: `Predicate ${name} failed: ${description}` };
}
