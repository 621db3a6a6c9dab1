import { namespaceOf, type Pod } from "#kinds";
import type { NodeInfo } from "../../framework/node-info.ts";
import type { SumsRequest } from "../helper/followed-sums.ts";
import {
  countingKey,
  countMatching,
  hasAllKeys,
  nodeInclusion,
  type SpreadConstraint,
} from "./constraints.ts";

interface Domain {
  nodes: number;
  pods: number;
}

/** Number of matching pods per constraint and topology value. */
export class DomainCounts {
  constructor(private readonly domains: readonly Map<string, Domain>[]) {}

  size(at: number): number {
    return this.domains[at]!.size;
  }

  /** Number of pods in a domain; undefined = no eligible node. */
  get(at: number, value: string): number | undefined {
    return this.domains[at]!.get(value)?.pods;
  }

  minimum(at: number): number {
    let smallest = Infinity;
    for (const { pods } of this.domains[at]!.values()) smallest = Math.min(smallest, pods);
    return smallest;
  }

  addPods(at: number, value: string, pods: number): void {
    this.add(at, value, { nodes: 0, pods });
  }

  /** Adds to a domain; it exists while it has nodes, or simulated pods. */
  add(at: number, value: string, { nodes, pods }: Readonly<Domain>): void {
    const domains = this.domains[at]!;
    const known = domains.get(value);
    if (known === undefined) {
      domains.set(value, { nodes, pods });
      return;
    }
    known.nodes += nodes;
    known.pods += pods;
    if (nodes < 0 && known.nodes === 0) domains.delete(value);
  }

  copy(): DomainCounts {
    const copied = (domains: Map<string, Domain>) => {
      return new Map([...domains].map(([value, domain]) => [value, { ...domain }]));
    };
    return new DomainCounts(this.domains.map(copied));
  }
}

interface CountedNodes {
  readonly nodes: readonly NodeInfo[];
  /** Whether to skip nodes that lack any of the topology keys. */
  readonly requiresAllKeys: boolean;
  /** Which constraints are counted; absent = all. */
  readonly counted?: readonly boolean[];
}

/** Counts of a pod's constraints, as request to the sums cache. */
export function domainCounts(
  pod: Pod,
  constraints: readonly SpreadConstraint[],
  { nodes, requiresAllKeys, counted }: CountedNodes,
): SumsRequest<DomainCounts> {
  const isIncluded = nodeInclusion(pod);
  const namespace = namespaceOf(pod);
  return {
    key: `${requiresAllKeys} ${countingKey(pod, constraints)}`,
    nodes,
    empty: () => new DomainCounts(constraints.map(() => new Map())),
    count: (counts, node, sign) => {
      if (requiresAllKeys && !hasAllKeys(node.labels, constraints)) return;
      for (const [at, constraint] of constraints.entries()) {
        if (counted?.[at] === false || !isIncluded(constraint, node.node!)) continue;
        const value = node.labels[constraint.topologyKey] ?? "";
        const pods = sign * countMatching(node, constraint.selector, namespace);
        counts.add(at, value, { nodes: sign, pods });
      }
    },
  };
}
