/** Simulated usage of nodes and pods, as metrics-server would measure it. */
import type { ApiObject, Handle } from "#client";
import { type Domain, Quantity, resolve } from "#meta";

export type Usage = Readonly<Record<"cpu" | "memory", string>>;

interface Container {
  readonly name: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
}

export interface Pod extends ApiObject {
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly Container[] };
  readonly status?: { readonly phase?: string };
}

export type Node = ApiObject;

export const pods: Handle<Pod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};
export const nodes: Handle<Node> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};

/** Usage of containers that request nothing, and of a node itself. */
const idle = { cpu: "1m", memory: "8Mi" } as const;
const nodeItself = { cpu: "100m", memory: "256Mi" } as const;

/** Only containers that run use anything. */
export function isMeasured({ spec, status }: Pod): boolean {
  return status?.phase === "Running" && (spec?.nodeName ?? "") !== "";
}

/**
 * Usage of the containers of a pod: KWOK's annotations `kwok.x-k8s.io/usage-cpu` and `-memory`, which
 * count for each container, else what the container requests.
 */
export function containerUsage({ metadata, spec }: Pod, domain: Domain) {
  const prefix = resolve("kwok.x-{api}/usage-", domain);
  const annotated = (resource: "cpu" | "memory") => {
    const text = metadata.annotations?.[`${prefix}${resource}`];
    return text !== undefined && isQuantity(text) ? text : undefined;
  };
  const usage = ({ resources }: Container, resource: "cpu" | "memory") =>
    annotated(resource) ?? resources?.requests?.[resource] ?? idle[resource];
  return (spec?.containers ?? []).map((container) => ({
    name: container.name,
    usage: { cpu: usage(container, "cpu"), memory: usage(container, "memory") },
  }));
}

/** Usage of a node: that of the pods on it, and of the node itself. */
export function nodeUsage(onNode: readonly Pod[], domain: Domain): Usage {
  const all = onNode.filter(isMeasured).flatMap((pod) => containerUsage(pod, domain));
  return sum([nodeItself, ...all.map(({ usage }) => usage)]);
}

export function sum(usages: readonly Usage[]): Usage {
  const total = (resource: "cpu" | "memory") =>
    usages
      .reduce((amount, usage) => amount.add(Quantity.parse(usage[resource])), Quantity.zero)
      .canonical();
  return { cpu: total("cpu"), memory: total("memory") };
}

function isQuantity(text: string): boolean {
  try {
    return Quantity.parse(text).compare(Quantity.zero) >= 0;
  } catch {
    return false;
  }
}
