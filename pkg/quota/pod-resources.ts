import { type Amounts, larger, plus } from "./amounts.ts";

/** Field of `resources` of a container. */
export type ResourceField = "requests" | "limits";

type AmountsOf = (container: any) => Amounts;

/**
 * Resources of a pod without overhead: the sum of containers and sidecars, or the largest sum of an init
 * container and the sidecars before it, whichever is more.
 */
export function podTotal(spec: any, field: ResourceField): Amounts {
  return total(spec, (container) => container.resources?.[field] ?? {});
}

/**
 * Like `podTotal`, but a container in a resize counts with the larger of its allocated and its specified
 * resources; if the resize is infeasible, with its allocated ones.
 */
export function allocatedPodTotal({ spec, status }: any, field: ResourceField): Amounts {
  const statuses = new Map<string, any>(
    [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map((each) => [
      each.name,
      each,
    ]),
  );
  if (statuses.size === 0) return podTotal(spec, field);
  const pending = (status.conditions ?? []).find(({ type }: any) => type === "PodResizePending");
  const isInfeasible = pending?.reason === "Infeasible";
  const containers: ReadonlySet<any> = new Set(spec.containers ?? []);
  return total(spec, (container) => {
    const specified: Amounts = container.resources?.[field] ?? {};
    const mayResize = containers.has(container) || container.restartPolicy === "Always";
    const current = mayResize ? statuses.get(container.name) : undefined;
    if (!current?.resources) return specified;
    const { resources, allocatedResources = {} } = current;
    const actual: Amounts = resources[field] ?? {};
    const allocated = field === "requests" ? larger(actual, allocatedResources) : actual;
    return isInfeasible ? allocated : larger(specified, allocated);
  });
}

/** Sums up containers as `podTotal` describes. */
function total(spec: any, amountsOf: AmountsOf): Amounts {
  let running: Amounts = {};
  for (const container of spec.containers ?? []) running = plus(running, amountsOf(container));
  let sidecars: Amounts = {};
  let starting: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container);
    if (container.restartPolicy === "Always") {
      running = plus(running, own);
      sidecars = plus(sidecars, own);
      starting = larger(starting, sidecars);
    } else starting = larger(starting, plus(sidecars, own));
  }
  return larger(running, starting);
}
