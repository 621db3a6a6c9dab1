/** Simulated usage of containers: from annotations of the pod, else their requests. */
import type { Container, Pod } from "#kinds";
import { type Domain, resolve } from "#meta";
import { perName } from "#routing";
import { annotationOf } from "../annotations.ts";
import { parseUsageProfile, type UsageProfile } from "./usage-profile.ts";

export interface ContainerUsage {
  readonly name: string;
  /** Cores in use. */
  readonly cpu: number;
  /** Core-seconds used since the container's start. */
  readonly cpuSeconds: number;
  /** Bytes in use. */
  readonly memory: number;
}

/** System overhead of a node, in cores and bytes. */
export const nodeItself = { cpu: 0.1, memory: 256 * 2 ** 20 } as const;

type Measured = "cpu" | "memory";
/** Usage of containers without requests. */
const idle = { cpu: "1m", memory: "8Mi" } as const;

/** Usage of the containers and sidecars of a pod at a time in ms. */
export function podUsage(
  pod: Pod,
  { domain, now }: { readonly domain: Domain; readonly now: number },
): readonly ContainerUsage[] {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  const seconds = Math.max(0, now - startOf(pod, now)) / 1000;
  return [...containers, ...sidecars].map((container) => {
    const profile = (resource: Measured) => profileOf(pod, container, { domain, resource });
    const cpu = profile("cpu");
    const memory = Math.round(profile("memory").at(seconds));
    return { name: container.name, cpu: cpu.at(seconds), cpuSeconds: cpu.total(seconds), memory };
  });
}

/** Whether a pod has usage: only running containers do. */
export function isMeasured({ spec, status }: Pod): boolean {
  return status?.phase === "Running" && (spec?.nodeName ?? "") !== "";
}

function startOf({ status }: Pod, now: number): number {
  return Date.parse(status?.startTime ?? "") || now;
}

/**
 * The annotations `usage-cpu` and `usage-memory`, or KWOK's of these names, which count for each container;
 * a list `app=100m,proxy=5m` names containers.
 */
function profileOf(
  pod: Pod,
  container: Container,
  { domain, resource }: { readonly domain: Domain; readonly resource: Measured },
): UsageProfile {
  const kwok = resolve(`kwok.x-{api}/usage-${resource}`, domain);
  const own = perName(annotationOf(pod, `usage-${resource}`), container.name);
  const texts = [own, pod.metadata.annotations?.[kwok], container.resources?.requests?.[resource]];
  for (const text of texts) {
    const profile = text === undefined ? undefined : parseUsageProfile(text);
    if (profile !== undefined) return profile;
  }
  return parseUsageProfile(idle[resource])!;
}
