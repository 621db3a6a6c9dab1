import type { ApiObject, Handle } from "#client";
import { milliValue, type PodMetrics } from "./metrics-client.ts";

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
}

interface Container {
  readonly name: string;
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
}

/** A pod, as far as its replica count depends on it. */
export interface ScaledPod extends ApiObject {
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly conditions?: readonly PodCondition[];
  };
}

export const scaledPods: Handle<ScaledPod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};

/** How young pods are judged. */
export interface ReadinessDelays {
  /** Period after the start of a pod in which its CPU samples count only once it is ready. */
  readonly cpuInitializationMs: number;
  /** Period after the start in which an unready pod counts as one that was never ready. */
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** Pods whose samples count. */
  readonly ready: number;
  readonly unready: readonly string[];
  /** Pods without a sample. */
  readonly missing: readonly string[];
  /** Pods that are failed or being deleted. */
  readonly ignored: readonly string[];
}

/** Sorts pods by whether their samples of a resource ("" = no resource) can be trusted. */
export function groupPods(
  pods: readonly ScaledPod[],
  metrics: PodMetrics,
  how: ReadinessDelays & { readonly resource: string; readonly now: number },
): PodGroups {
  const unready: string[] = [];
  const missing: string[] = [];
  const ignored: string[] = [];
  let ready = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const phase = pod.status?.phase;
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || phase === "Failed") ignored.push(name);
    else if (phase === "Pending") unready.push(name);
    else if (metric === undefined) missing.push(name);
    else if (how.resource === "cpu" && isUnready(pod, metric, how)) unready.push(name);
    else ready++;
  }
  return { ready, unready, missing, ignored };
}

/** Whether the CPU sample of the pod tells of its start rather than of its work. */
function isUnready(
  { status }: ScaledPod,
  sample: { readonly at: number; readonly windowMs: number },
  { cpuInitializationMs, initialReadinessMs, now }: ReadinessDelays & { readonly now: number },
): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  if (condition === undefined || status?.startTime === undefined) return true;
  const started = Date.parse(status.startTime);
  const changed = Date.parse(condition.lastTransitionTime ?? "1970-01-01T00:00:00Z");
  const isFalse = condition.status === "False";
  if (started + cpuInitializationMs > now) {
    return isFalse || sample.at < changed + sample.windowMs;
  }
  return isFalse && started + initialReadinessMs > changed;
}

/** Whether the pod runs and is ready. */
export function isReady({ status }: ScaledPod): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  return status?.phase === "Running" && condition?.status === "True";
}

/**
 * Requests of a resource by name of the pod, in thousandths: of one container, of the pod as a
 * whole, or of all its containers.
 * @throws Error if a request is missing
 */
export function requestsOf(
  pods: readonly ScaledPod[],
  resource: string,
  container: string,
): ReadonlyMap<string, number> {
  return new Map(
    pods.map((pod) => {
      const ofPod = pod.spec?.resources?.requests;
      const wholePod = container === "" && Object.keys(ofPod ?? {}).length > 0;
      const request = wholePod
        ? podLevelRequest(pod, resource)
        : containerRequests(pod, resource, container);
      return [pod.metadata.name, request];
    }),
  );
}

function podLevelRequest({ metadata, spec }: ScaledPod, resource: string): number {
  const request = spec?.resources?.requests?.[resource];
  if (request === undefined) {
    throw new Error(`missing pod-level request for ${resource} in Pod ${metadata.name}`);
  }
  return milliValue(request);
}

function containerRequests({ metadata, spec }: ScaledPod, resource: string, container: string) {
  const { containers = [], initContainers = [] } = spec ?? {};
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
  let sum = 0;
  for (const { name, resources } of [...containers, ...sidecars]) {
    if (container !== "" && container !== name) continue;
    const request = resources?.requests?.[resource];
    if (request === undefined) {
      const where = `container ${name} of Pod ${metadata.name}`;
      throw new Error(`missing request for ${resource} in ${where}`);
    }
    sum += milliValue(request);
  }
  return sum;
}
