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

/** Pods of a DaemonSet: their template for a node, and the nodes on which they should run. */

export const revisionLabel = "controller-revision-hash";
const generationLabel = "pod-template-generation";
const generationAnnotation = "deprecated.daemonset.template.generation";

/** Node taints that every daemon pod tolerates: name and effect. */
const toleratedTaints = [
  ["not-ready", "NoExecute"],
  ["unreachable", "NoExecute"],
  ["disk-pressure", "NoSchedule"],
  ["memory-pressure", "NoSchedule"],
  ["pid-pressure", "NoSchedule"],
  ["unschedulable", "NoSchedule"],
] as const;

/** Adds the tolerations of all daemon pods to those of a pod template. */
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

export interface NodeEligibility {
  readonly shouldRun: boolean;
  /** Whether a pod that already runs there may stay. */
  readonly shouldContinue: boolean;
}

/** Predicate that tells whether a node should run a pod of the DaemonSet. */
export function nodeEligibility(
  { spec }: DaemonSet,
  domain: Domain,
): (node: Node) => NodeEligibility {
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

/** Template generation of extensions/v1beta1 DaemonSets, from their annotation; undefined = none. */
export function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.[generationAnnotation] ?? "";
  return /^[+-]?\d{1,18}$/.test(text) ? String(Number(text)) : undefined;
}

/** Pod template of a revision, without the node affinity. */
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

/** Node affinity that binds a pod to one node; replaces other required terms. */
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

/** Node that a pod is bound to, or was created for; undefined = neither. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName !== undefined && spec.nodeName !== "") return spec.nodeName;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const field = (required?.nodeSelectorTerms ?? [])
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === "metadata.name" && operator === "In");
  return field?.values?.length === 1 ? field.values[0] : undefined;
}

/** Whether a pod has the current template, by hash or by template generation. */
export function isUpdated(
  { metadata }: Pod,
  hash: string,
  generation: string | undefined,
): boolean {
  const { labels = {} } = metadata;
  const isOfGeneration = generation !== undefined && labels[generationLabel] === generation;
  return (hash !== "" && labels[revisionLabel] === hash) || isOfGeneration;
}

/** Order: scheduled pods before unscheduled ones, then older ones first, then by name. */
export function byAssignment(left: Pod, right: Pod): number {
  const waits = ({ spec }: Pod) => Number((spec?.nodeName ?? "") === "");
  const created = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? "");
  return (
    waits(left) - waits(right) ||
    created(left) - created(right) ||
    (left.metadata.name < right.metadata.name ? -1 : 1)
  );
}
