import {
  type Affinity,
  type DaemonSet,
  isTolerated,
  type Node,
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  type Toleration,
  requiredNodeAffinity,
} from "#kinds";
import { type Domain, resolve } from "#meta";

/** The pods of a DaemonSet: how they are made for a node, and on which nodes they may run. */

export const revisionLabel = "controller-revision-hash";
const generationLabel = "pod-template-generation";
const generationAnnotation = "deprecated.daemonset.template.generation";

/** Conditions of nodes that daemons stay through; with the effect of their taints. */
const toleratedTaints = [
  ["not-ready", "NoExecute"],
  ["unreachable", "NoExecute"],
  ["disk-pressure", "NoSchedule"],
  ["memory-pressure", "NoSchedule"],
  ["pid-pressure", "NoSchedule"],
  ["unschedulable", "NoSchedule"],
] as const;

/** The tolerations of a pod template with those that all daemons have. */
function daemonTolerations({ tolerations = [], hostNetwork }: PodSpec, domain: Domain) {
  const wanted = [
    ...toleratedTaints,
    ...(hostNetwork === true ? [["network-unavailable", "NoSchedule"] as const] : []),
  ];
  return wanted.reduce<readonly Toleration[]>((all, [taint, effect]) => {
    const key = resolve(`node.{label}/${taint}`, domain);
    const added: Toleration = { key, operator: "Exists", effect };
    const isSame = (each: Toleration) =>
      each.key === key && each.effect === effect && each.operator === "Exists" && !each.value;
    return all.some(isSame) ? all.map((each) => (isSame(each) ? added : each)) : [...all, added];
  }, tolerations);
}

export interface NodeFit {
  readonly shouldRun: boolean;
  /** Whether a pod that is there may stay. */
  readonly shouldContinue: boolean;
}

/** Answers for nodes whether the DaemonSet wants a pod there. */
export function nodeFitOf({ spec }: DaemonSet, domain: Domain): (node: Node) => NodeFit {
  const podSpec = spec.template.spec ?? {};
  const tolerations = daemonTolerations(podSpec, domain);
  return (node) => {
    const { nodeName = "" } = podSpec;
    const isNamed = nodeName === "" || nodeName === node.metadata.name;
    if (!isNamed || !requiredNodeAffinity({ spec: podSpec })(node))
      return { shouldRun: false, shouldContinue: false };
    const taints = node.spec?.taints ?? [];
    const fits = (...effects: readonly string[]) =>
      taints.every((taint) => !effects.includes(taint.effect) || isTolerated(taint, tolerations));
    return { shouldRun: fits("NoExecute", "NoSchedule"), shouldContinue: fits("NoExecute") };
  };
}

/** The number that older versions of Kubernetes gave to the template; undefined = none. */
export function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.[generationAnnotation] ?? "";
  return /^[+-]?\d{1,18}$/.test(text) ? String(Number(text)) : undefined;
}

/** The template of the pods of a revision, but for the node. */
export function daemonTemplate(set: DaemonSet, hash: string, domain: Domain): PodTemplateSpec {
  const { metadata, spec = {} } = set.spec.template;
  const generation = templateGeneration(set);
  const labels = {
    ...metadata?.labels,
    ...(generation === undefined ? {} : { [generationLabel]: generation }),
    [revisionLabel]: hash,
  };
  const tolerations = daemonTolerations(spec, domain);
  return { metadata: { ...metadata, labels }, spec: { ...spec, tolerations } };
}

/** The affinity of a pod for one node; other required terms are replaced. */
export function affinityFor(affinity: Affinity | undefined, node: string): Affinity {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}

/** The node that a pod is on, or was made for; undefined = it was made for none. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName !== undefined && spec.nodeName !== "") return spec.nodeName;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const field = (required?.nodeSelectorTerms ?? [])
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === "metadata.name" && operator === "In");
  return field?.values?.length === 1 ? field.values[0] : undefined;
}

/** Whether a pod is of the current template. */
export function isUpdated(
  { metadata }: Pod,
  hash: string,
  generation: string | undefined,
): boolean {
  const { labels = {} } = metadata;
  const isOfGeneration = generation !== undefined && labels[generationLabel] === generation;
  return (hash !== "" && labels[revisionLabel] === hash) || isOfGeneration;
}

/** Pods on a node before those that wait for it, then older ones, then by name. */
export function byAssignment(left: Pod, right: Pod): number {
  const waits = ({ spec }: Pod) => Number((spec?.nodeName ?? "") === "");
  const created = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? "");
  return (
    waits(left) - waits(right) ||
    created(left) - created(right) ||
    (left.metadata.name < right.metadata.name ? -1 : 1)
  );
}
