/** Simulated usage of nodes and pods in metrics-server's units. */
import type { Pod } from "#kinds";
import { type Domain, Quantity } from "#meta";
import { isMeasured, nodeItself, podUsage } from "#nodes";

export type Usage = Readonly<Record<"cpu" | "memory", string>>;

export interface Moment {
  readonly domain: Domain;
  /** Wall clock in ms. */
  readonly now: number;
}

interface Amounts {
  /** Cores. */
  readonly cpu: number;
  /** Bytes. */
  readonly memory: number;
}

/** Usage of the containers of a pod. */
export function containerUsage(pod: Pod, moment: Moment) {
  return podUsage(pod, moment).map((usage) => ({ name: usage.name, usage: printed(usage) }));
}

/** Usage of a node: its pods and system overhead. */
export function nodeUsage(onNode: readonly Pod[], moment: Moment): Usage {
  const all = onNode.filter(isMeasured).flatMap((pod) => podUsage(pod, moment));
  const total = (resource: "cpu" | "memory") =>
    all.reduce((sum, usage) => sum + usage[resource], nodeItself[resource]);
  return printed({ cpu: total("cpu"), memory: total("memory") });
}

/** Formats usage in nanocores and kibibytes, like metrics-server. */
function printed({ cpu, memory }: Amounts): Usage {
  return {
    cpu: Quantity.parse(`${Math.round(cpu * 1e9)}n`).canonical(),
    memory: Quantity.parse(`${Math.ceil(memory / 1024)}Ki`).canonical(),
  };
}

export function sum(usages: readonly Usage[]): Usage {
  const total = (resource: "cpu" | "memory") =>
    usages
      .reduce((amount, usage) => amount.add(Quantity.parse(usage[resource])), Quantity.zero)
      .canonical();
  return { cpu: total("cpu"), memory: total("memory") };
}
