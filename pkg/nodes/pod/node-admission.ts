/** Admission of pods by their node: what a kubelet checks again after the scheduler. */
import { type Node, type Pod, priorityOf, requiredNodeAffinity } from "#kinds";
import { type Amounts, plus, podTotal } from "#quota";
import { type Domain, Quantity, resolve } from "#meta";
import type { PodFailure } from "./pod-run.ts";

/** Resources that are compared in thousandths. */
const inThousandths = new Set(["cpu"]);
/** Priority from which pods are critical: system-cluster-critical. */
const criticalPriority = 2_000_000_000;

export interface AdmissionInput {
  readonly node: Node;
  /** Pods of the node that it has admitted and that have not ended, as they are allocated. */
  readonly others: readonly Pod[];
  readonly domain: Domain;
}

/** Why a node refuses a pod, with a kubelet's reasons and messages; undefined = it admits the pod. */
export function refusalOf(pod: Pod, input: AdmissionInput): PodFailure | undefined {
  const { node, others, domain } = input;
  return pressureOn(pod, node, domain) ?? shortage(pod, node, others) ?? mismatch(pod, node);
}

/** Why a resize can never be met by the node: it asks for more than there is. */
export function excessOf(pod: Pod, { status }: Node): string | undefined {
  const requested = requestsOf(pod);
  for (const name of ["memory", "cpu"]) {
    const [wanted, capacity] = [requested[name], status?.allocatable?.[name]].map((text) => {
      const amount = Quantity.parse(text ?? "0");
      return inThousandths.has(name) ? amount.milliValue() : amount.value();
    }) as [bigint, bigint];
    if (wanted <= capacity) continue;
    const amounts = `${name}, requested: ${wanted}, capacity: ${capacity}`;
    return `Node didn't have enough capacity: ${amounts}`;
  }
  return undefined;
}

/** Under memory pressure a node takes pods that request something only; under others, critical ones. */
function pressureOn(pod: Pod, { status }: Node, domain: Domain): PodFailure | undefined {
  const found = ["MemoryPressure", "DiskPressure", "PIDPressure"].filter((type) =>
    status?.conditions?.some((each) => each.type === type && each.status === "True"),
  );
  if (found.length === 0 || priorityOf(pod) >= criticalPriority) return undefined;
  const isMemoryOnly = found.length === 1 && found[0] === "MemoryPressure";
  if (isMemoryOnly && pod.status?.qosClass !== "BestEffort") return undefined;
  const taint = resolve("node.{label}/memory-pressure", domain);
  const tolerates = pod.spec?.tolerations?.some(({ key, operator, effect }) => {
    const isKey = key === taint || (key === undefined && operator === "Exists");
    return isKey && (effect === undefined || effect === "NoSchedule");
  });
  if (isMemoryOnly && tolerates === true) return undefined;
  return { reason: "Evicted", message: `The node had condition: [${found.join(" ")}]. ` };
}

/** The first resource that is short, pods first, in a scheduler's order. */
function shortage(pod: Pod, { status }: Node, others: readonly Pod[]): PodFailure | undefined {
  const { allocatable = {} } = status ?? {};
  const used = others.reduce<Amounts>((sum, other) => plus(sum, requestsOf(other)), {
    pods: String(others.length),
  });
  const requested: Amounts = { ...requestsOf(pod), pods: "1" };
  const names = Object.keys(requested);
  const order = ["pods", "cpu", "memory", "ephemeral-storage"];
  const sorted = [...order, ...names.filter((name) => !order.includes(name)).sort()];
  for (const name of sorted.filter((each) => names.includes(each))) {
    const capacity = allocatable[name];
    // Extended resources that the node does not know belong to the cluster.
    if (capacity === undefined && !order.includes(name)) continue;
    const amounts = [requested[name], used[name], capacity].map((text) =>
      Quantity.parse(text ?? "0"),
    );
    const [wanted, taken, all] = amounts.map((amount) =>
      inThousandths.has(name) ? amount.milliValue() : amount.value(),
    ) as [bigint, bigint, bigint];
    if (wanted === 0n || wanted + taken <= all) continue;
    return {
      reason: `OutOf${name}`,
      message:
        `Node didn't have enough resource: ${name}, requested: ${wanted}, used: ${taken}, ` +
        `capacity: ${all}`,
    };
  }
  return undefined;
}

function requestsOf({ spec }: Pod): Amounts {
  return plus(podTotal(spec ?? {}, "requests"), spec?.overhead ?? {});
}

function mismatch(pod: Pod, node: Node): PodFailure | undefined {
  const { taints = [] } = node.spec ?? {};
  const { tolerations = [] } = pod.spec ?? {};
  if (!requiredNodeAffinity(pod)(node)) {
    return predicateFailure("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  const isTainted = taints.some(
    ({ key, value = "", effect }) =>
      effect === "NoExecute" &&
      !tolerations.some((toleration) => {
        const isEffect = toleration.effect === undefined || toleration.effect === effect;
        if (toleration.operator === "Exists") {
          return isEffect && (toleration.key === undefined || toleration.key === key);
        }
        return isEffect && toleration.key === key && (toleration.value ?? "") === value;
      }),
  );
  if (!isTainted) return undefined;
  return predicateFailure("TaintToleration", "node(s) had taints that the pod didn't tolerate");
}

function predicateFailure(name: string, description: string): PodFailure {
  return { reason: name, message: `Predicate ${name} failed: ${description}` };
}
