import {
  type Labels,
  labelsOf,
  namespaceOf,
  type Pod,
  type PodAffinityTerm,
  type PodAffinityTerms,
} from "#kinds";
import { everything, type LabelSelector, nothing, selectorFromLabelSelector } from "#meta";
import { type PodResources, podResources } from "./resources.ts";

export interface Selector {
  readonly empty: boolean;
  matches(labels: Labels): boolean;
}

/** A term of pod affinity or anti-affinity, with parsed selectors. */
export interface AffinityTerm {
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: Selector;
  readonly selector: Selector;
  readonly topologyKey: string;
}

export interface WeightedAffinityTerm {
  readonly weight: number;
  readonly term: AffinityTerm;
}

/** Pod affinity terms of a pod; pods without any share one value. */
export interface AffinityTerms {
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  readonly preferredAffinity: readonly WeightedAffinityTerm[];
  readonly preferredAntiAffinity: readonly WeightedAffinityTerm[];
}

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A pod with precomputed properties. */
export interface PodInfo extends PodResources {
  readonly pod: Pod;
  readonly terms: AffinityTerms;
  readonly hostPorts: readonly HostPort[];
  /** `namespace/name` of the claims of its volumes, without ephemeral ones. */
  readonly claims: readonly string[];
}

const noTerms: AffinityTerms = {
  requiredAffinity: [],
  requiredAntiAffinity: [],
  preferredAffinity: [],
  preferredAntiAffinity: [],
};
const noPorts: readonly HostPort[] = [];
const noClaims: readonly string[] = [];

export function podInfoOf(pod: Pod): PodInfo {
  return {
    pod,
    ...podResources(pod),
    terms: affinityTermsOf(pod),
    hostPorts: hostPortsOf(pod),
    claims: claimsOf(pod),
  };
}

/** Parses a LabelSelector; an absent one matches nothing. */
export function selectorOf(selector: LabelSelector | undefined): Selector {
  return selector === undefined ? nothing : selectorFromLabelSelector(selector);
}

export function termMatches(
  { namespaces, namespaceSelector, selector }: AffinityTerm,
  pod: Pod,
  namespaceLabels: Labels | undefined,
): boolean {
  const isNamespace =
    namespaces.has(namespaceOf(pod)) || namespaceSelector.matches(namespaceLabels ?? {});
  return isNamespace && selector.matches(labelsOf(pod));
}

export function matchesAllTerms(terms: readonly AffinityTerm[], pod: Pod): boolean {
  return terms.length > 0 && terms.every((term) => termMatches(term, pod, undefined));
}

export function hasAffinityTerms({ terms }: PodInfo): boolean {
  return terms !== noTerms;
}

function affinityTermsOf(pod: Pod): AffinityTerms {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined) return noTerms;
  const required = (terms: PodAffinityTerms = {}) =>
    (terms.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => parsed(pod, term));
  const preferred = (terms: PodAffinityTerms = {}) =>
    (terms.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((each) => ({
      weight: each.weight,
      term: parsed(pod, each.podAffinityTerm),
    }));
  return {
    requiredAffinity: required(podAffinity),
    requiredAntiAffinity: required(podAntiAffinity),
    preferredAffinity: preferred(podAffinity),
    preferredAntiAffinity: preferred(podAntiAffinity),
  };
}

function parsed(pod: Pod, term: PodAffinityTerm): AffinityTerm {
  const { namespaces = [], namespaceSelector, labelSelector, topologyKey } = term;
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
  const all = namespaceSelector !== undefined && selectorFromLabelSelector(namespaceSelector).empty;
  return {
    namespaces: new Set(isOwn ? [namespaceOf(pod)] : namespaces),
    namespaceSelector: all ? everything : selectorOf(namespaceSelector),
    selector: selectorOf(labelSelector),
    topologyKey,
  };
}

function hostPortsOf({ spec = {} }: Pod): readonly HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === "Always",
  );
  const ports = [...(spec.containers ?? []), ...sidecars].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort = 0, hostIP = "", protocol = "TCP" }) =>
      hostPort > 0 ? [{ ip: hostIP || "0.0.0.0", protocol, port: hostPort }] : [],
    ),
  );
  return ports.length === 0 ? noPorts : ports;
}

function claimsOf(pod: Pod): readonly string[] {
  const { volumes = [] } = pod.spec ?? {};
  if (volumes.length === 0) return noClaims;
  return volumes.flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [`${namespaceOf(pod)}/${claim.claimName}`],
  );
}
