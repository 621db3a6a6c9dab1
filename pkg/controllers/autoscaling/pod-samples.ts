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

/** Fields of a pod that the replica calculation uses. */
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

/** Periods in which samples of young pods are ignored. */
export interface ReadinessDelays {
  /** Period after the start of a pod in which its CPU samples count only once it is ready. */
  readonly cpuInitializationMs: number;
  /** Period after the start in which an unready pod counts as one that was never ready. */
  readonly initialReadinessMs: number;
}

export interface PodGroups {
  /** Number of pods whose samples count. */
  readonly ready: number;
  readonly unready: readonly string[];
  /** Pods without a sample. */
  readonly missing: readonly string[];
  /** Pods that are failed or being deleted. */
  readonly ignored: readonly string[];
}

/** Groups pods by whether their samples of a resource ("" = not a resource metric) are usable. */
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

/** Whether the CPU sample may cover the pod's initialization, and is ignored. */
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
 * Resource requests by pod name in thousandths: of one container, the pod-level request, or the sum of all
 * containers.
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
