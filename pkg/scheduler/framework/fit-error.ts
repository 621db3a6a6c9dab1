import { type Status, unresolvable } from "./status.ts";

/** Status by rejected node; nodes without an entry share a default status. */
export class NodeToStatus {
  private readonly byNode = new Map<string, Status>();
  absent: Status = unresolvable("");

  get size(): number {
    return this.byNode.size;
  }

  set(node: string, status: Status): void {
    this.byNode.set(node, status);
  }

  get(node: string): Status {
    return this.byNode.get(node) ?? this.absent;
  }

  entries(): Iterable<readonly [string, Status]> {
    return this.byNode;
  }
}

export interface Diagnosis {
  readonly nodeToStatus: NodeToStatus;
  /** Plugins that rejected the pod; their registered events requeue it. */
  readonly unschedulablePlugins: Set<string>;
  /** Plugins that wait for another component; their registered events requeue the pod without backoff. */
  readonly pendingPlugins: Set<string>;
  preFilterMessage: string;
  postFilterMessage: string;
}

export function newDiagnosis(): Diagnosis {
  return {
    nodeToStatus: new NodeToStatus(),
    unschedulablePlugins: new Set(),
    pendingPlugins: new Set(),
    preFilterMessage: "",
    postFilterMessage: "",
  };
}

export function addPluginStatus(diagnosis: Diagnosis, { code, plugin }: Status): void {
  if (plugin === "") return;
  if (code === "Pending") diagnosis.pendingPlugins.add(plugin);
  else diagnosis.unschedulablePlugins.add(plugin);
}

/** No node fits a pod. The message is that of condition PodScheduled. */
export class FitError extends Error {
  override readonly name = "FitError";
  constructor(
    readonly nodes: number,
    readonly diagnosis: Diagnosis,
    /** Whether to run PostFilter plugins: not after Reserve or Permit rejected the selected node. */
    readonly hasPostFilter = true,
  ) {
    super();
  }

  /** Message, computed lazily since PostFilter plugins extend the diagnosis. */
  get text(): string {
    return fitMessage(this.nodes, this.diagnosis);
  }
}

export function fitMessage(
  nodes: number,
  diagnosis: Pick<Diagnosis, "nodeToStatus" | "preFilterMessage" | "postFilterMessage">,
): string {
  const { preFilterMessage, postFilterMessage, nodeToStatus } = diagnosis;
  const reasons = preFilterMessage || reasonsOf(nodes, nodeToStatus);
  const parts = [`0/${nodes} nodes are available:`];
  if (reasons !== "") parts.push(`${reasons}.`);
  if (postFilterMessage !== "") parts.push(postFilterMessage);
  return parts.join(" ");
}

function reasonsOf(nodes: number, nodeToStatus: NodeToStatus): string {
  const counts = new Map<string, number>();
  const add = (status: Status, count: number) => {
    for (const reason of status.reasons) counts.set(reason, (counts.get(reason) ?? 0) + count);
  };
  for (const [, status] of nodeToStatus.entries()) add(status, 1);
  if (nodeToStatus.size < nodes) add(nodeToStatus.absent, nodes - nodeToStatus.size);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return texts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).join(", ");
}
