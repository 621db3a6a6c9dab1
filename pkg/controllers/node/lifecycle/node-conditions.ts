/** Conditions, taints and labels of nodes for the node lifecycle controller. */
import type { Draft } from "#client";
import type { Node, NodeCondition } from "#kinds";
import { type Domain, resolve } from "#meta";
import { formatTime } from "../../time.ts";
import type { TaintId } from "../node-taints.ts";

/** Conditions that the kubelet reports; they become Unknown when it stops doing so. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] as const;

export function nodeConditionOf({ status }: Node, type: string): NodeCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** Taint and label keys in a domain. */
export class NodeNames {
  readonly unreachable: string;
  readonly notReady: string;
  readonly unschedulable: string;
  readonly excludeDisruption: string;
  /** Pairs of a stable label and the beta label to which its value is copied. */
  readonly copiedLabels: readonly (readonly [stable: string, beta: string])[];
  /** Taint keys by condition type, then by status. */
  private readonly byCondition: Readonly<Record<string, Readonly<Record<string, string>>>>;
  private readonly zoneLabels: readonly (readonly [region: string, zone: string])[];

  constructor(domain: Domain) {
    const node = (name: string) => resolve(`node.{label}/${name}`, domain);
    this.unreachable = node("unreachable");
    this.notReady = node("not-ready");
    this.unschedulable = node("unschedulable");
    this.excludeDisruption = node("exclude-disruption");
    this.copiedLabels = ["os", "arch"].map((name) => [
      resolve(`{label}/${name}`, domain),
      resolve(`beta.{label}/${name}`, domain),
    ]);
    this.byCondition = {
      Ready: { False: this.notReady, Unknown: this.unreachable },
      MemoryPressure: { True: node("memory-pressure") },
      DiskPressure: { True: node("disk-pressure") },
      NetworkUnavailable: { True: node("network-unavailable") },
      PIDPressure: { True: node("pid-pressure") },
    };
    this.zoneLabels = ["topology", "failure-domain.beta"].map((prefix) => [
      resolve(`${prefix}.{label}/region`, domain),
      resolve(`${prefix}.{label}/zone`, domain),
    ]);
  }

  /** NoSchedule taints that the conditions and `spec.unschedulable` require. */
  desiredNoSchedule({ spec, status }: Node): readonly TaintId[] {
    const keys = (status?.conditions ?? []).flatMap(
      (condition) => this.byCondition[condition.type]?.[condition.status] ?? [],
    );
    if (spec?.unschedulable === true) keys.push(this.unschedulable);
    return keys.map((key) => ({ key, effect: "NoSchedule" }));
  }

  /** NoSchedule taints of the node that this controller manages. */
  managedNoSchedule({ spec }: Node): readonly TaintId[] {
    const managed = new Set(Object.values(this.byCondition).flatMap((keys) => Object.values(keys)));
    managed.add(this.unschedulable);
    const taints = spec?.taints ?? [];
    return taints.filter(({ key, effect }) => effect === "NoSchedule" && managed.has(key));
  }

  /** Key of the node's region and zone, in the format of kube-controller-manager; "" = neither is labeled. */
  zoneOf({ metadata: { labels = {} } }: Node): string {
    const [stable, beta] = this.zoneLabels as [
      readonly [string, string],
      readonly [string, string],
    ];
    const region = labels[stable[0]] ?? labels[beta[0]] ?? "";
    const zone = labels[stable[1]] ?? labels[beta[1]] ?? "";
    return region === "" && zone === "" ? "" : `${region}:\0:${zone}`;
  }
}

/** Sets the kubelet's conditions to Unknown; adds those that it never reported. */
export function withUnknownConditions(node: Node, nowMs: number): Draft<Node> {
  const now = formatTime(nowMs);
  const conditions = (node.status?.conditions ?? []).map((condition) => {
    const isKubeletCondition = (kubeletConditions as readonly string[]).includes(condition.type);
    if (!isKubeletCondition || condition.status === "Unknown") return condition;
    const reason = "NodeStatusUnknown";
    const message = "Kubelet stopped posting node status.";
    return { ...condition, status: "Unknown" as const, reason, message, lastTransitionTime: now };
  });
  const { creationTimestamp: lastHeartbeatTime = now } = node.metadata;
  for (const type of kubeletConditions) {
    if (conditions.some((condition) => condition.type === type)) continue;
    conditions.push({
      type,
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime,
      lastTransitionTime: now,
    });
  }
  return { ...node, status: { ...node.status, conditions } };
}
