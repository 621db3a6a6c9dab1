import type { Clock } from "#base";
import type { ObjectReference } from "./autoscaling-kinds.ts";
import type { MetricsClient, PodMetrics } from "./metrics-client.ts";
import {
  groupPods,
  isReady,
  type ReadinessDelays,
  requestsOf,
  type ScaledPod,
} from "./pod-samples.ts";

/** Maximum relative deviations from the target that do not change the replicas. */
export interface Tolerances {
  readonly scaleDown: number;
  readonly scaleUp: number;
}

/** Pods of a scale target, with the parameters of the calculation. */
export interface ScaleTarget {
  readonly namespace: string;
  /** Label selector of the pods in string form. */
  readonly selector: string;
  readonly pods: readonly ScaledPod[];
  readonly currentReplicas: number;
  readonly tolerances: Tolerances;
}

/** A replica count, and the usage in thousandths from which it follows. */
export interface ReplicaProposal {
  readonly replicas: number;
  readonly usage: number;
  /** Usage in percent of the requests; absent for targets that are not utilizations. */
  readonly utilization?: number;
}

interface Ratio {
  /** Usage divided by its target. */
  readonly ratio: number;
  /** Average per pod, in thousandths. */
  readonly usage: number;
  readonly utilization?: number;
}

/** Evaluates samples against a target: first the available ones, then with assumed values for the others. */
interface Judgement {
  readonly resource: string;
  readonly ratioOf: (metrics: PodMetrics) => Ratio;
  /** Assumed usage of a pod without a sample when scaling down. */
  readonly assumed: (pod: string) => number;
}

const largestInt32 = 2 ** 31 - 1;

/** Computes replica counts from metrics. */
export class ReplicaCalculator {
  constructor(
    private readonly metrics: MetricsClient,
    private readonly clock: Clock,
    private readonly delays: ReadinessDelays,
  ) {}

  /** For a utilization target: percentage of the resource requests. */
  async resourceUtilization(
    target: ScaleTarget,
    of: { readonly resource: string; readonly container: string; readonly percent: number },
  ): Promise<ReplicaProposal> {
    const { resource, container, percent } = of;
    const samples = await this.resourceMetrics(target, resource, container);
    // Lazy: a missing request is an error only if there is a sample.
    let requests: ReadonlyMap<string, number> | undefined;
    const requestsNow = () => (requests ??= requestsOf(target.pods, resource, container));
    return this.judge(target, samples, {
      resource,
      ratioOf: (metrics) => utilizationRatio(metrics, requestsNow(), percent),
      assumed: (pod) => Math.trunc(((requestsNow().get(pod) ?? 0) * Math.max(100, percent)) / 100),
    });
  }

  /** For a target average value of a resource per pod, in thousandths. */
  async resourceUsage(
    target: ScaleTarget,
    of: { readonly resource: string; readonly container: string; readonly average: number },
  ): Promise<ReplicaProposal> {
    const { resource, container, average } = of;
    const samples = await this.resourceMetrics(target, resource, container);
    return this.judge(target, samples, plainJudgement(resource, average));
  }

  /** For a custom metric of each pod. */
  async podsMetric(
    target: ScaleTarget,
    of: { readonly metric: string; readonly metricSelector: string; readonly average: number },
  ): Promise<ReplicaProposal> {
    const { metric, metricSelector, average } = of;
    const { namespace, selector } = target;
    const samples = await this.metrics
      .podsMetric(metric, { namespace, selector, metricSelector })
      .catch((error: unknown) => failed(`unable to get metric ${metric}`, error));
    return this.judge(target, samples, plainJudgement("", average));
  }

  /** For a custom metric of one object, as a whole or per pod. */
  async objectMetric(
    target: ScaleTarget,
    of: {
      readonly metric: string;
      readonly metricSelector: string;
      readonly object: ObjectReference;
      readonly wanted: Wanted;
    },
  ): Promise<ReplicaProposal> {
    const { metric, metricSelector, object, wanted } = of;
    const { namespace } = target;
    const usage = await this.metrics
      .objectMetric(metric, { namespace, object, metricSelector })
      .catch((error: unknown) => {
        // Order of the parts as in kube-controller-manager's message.
        const where = `${object.kind} on ${namespace} ${object.name}/${textOf(error)}`;
        throw new Error(`unable to get metric ${metric}: ${where}`);
      });
    return proposalFor(target, usage, wanted);
  }

  /** For an external metric, as a whole or per pod. */
  async externalMetric(
    target: ScaleTarget,
    of: {
      readonly metric: string;
      readonly metricSelector: string;
      /** The selector as printed in messages. */
      readonly shownSelector: string;
      readonly wanted: Wanted;
    },
  ): Promise<ReplicaProposal> {
    const { metric, metricSelector, shownSelector, wanted } = of;
    const { namespace } = target;
    const values = await this.metrics
      .externalMetric(metric, { namespace, metricSelector })
      .catch((error: unknown) =>
        failed(`unable to get external metric ${namespace}/${metric}/${shownSelector}`, error),
      );
    const usage = values.reduce((sum, value) => sum + value, 0);
    return proposalFor(target, usage, wanted);
  }

  private async resourceMetrics(target: ScaleTarget, resource: string, container: string) {
    const { namespace, selector } = target;
    return this.metrics
      .resourceMetrics(resource, { namespace, selector, container })
      .catch((error: unknown) => failed(`unable to get metrics for resource ${resource}`, error));
  }

  private judge(target: ScaleTarget, samples: PodMetrics, by: Judgement): ReplicaProposal {
    const { pods, currentReplicas, tolerances } = target;
    if (pods.length === 0) throw new Error(noPods);
    const how = { ...this.delays, resource: by.resource, now: this.clock.now() };
    const { ready, unready, missing, ignored } = groupPods(pods, samples, how);
    const metrics = new Map(samples);
    for (const pod of [...ignored, ...unready]) metrics.delete(pod);
    if (metrics.size === 0) {
      throw new Error("did not receive metrics for targeted pods (pods might be unready)");
    }
    const { ratio, ...measured } = by.ratioOf(metrics);
    const scaleUpWithUnready = unready.length > 0 && ratio > 1;
    const unchanged = { replicas: currentReplicas, ...measured };
    if (!scaleUpWithUnready && missing.length === 0) {
      if (isWithin(tolerances, ratio)) return unchanged;
      return { replicas: Math.ceil(ratio * ready), ...measured };
    }
    const assume = (pod: string, value: number) =>
      void metrics.set(pod, { value, at: how.now, windowMs: 0 });
    if (ratio !== 1) for (const pod of missing) assume(pod, ratio < 1 ? by.assumed(pod) : 0);
    if (scaleUpWithUnready) for (const pod of unready) assume(pod, 0);
    const { ratio: guessed } = by.ratioOf(metrics);
    const turns = (ratio < 1 && guessed > 1) || (ratio > 1 && guessed < 1);
    if (isWithin(tolerances, guessed) || turns) return unchanged;
    const replicas = Math.ceil(guessed * metrics.size);
    const contradicts =
      (guessed < 1 && replicas > currentReplicas) || (guessed > 1 && replicas < currentReplicas);
    return contradicts ? unchanged : { replicas, ...measured };
  }
}

/** Target of an object or external metric, in thousandths. */
export type Wanted =
  | { readonly value: number }
  | {
      readonly average: number;
      /** `status.replicas` of the scale. */
      readonly statusReplicas: number;
    };

const noPods = "no pods returned by selector while calculating replica count";

function proposalFor(target: ScaleTarget, usage: number, wanted: Wanted): ReplicaProposal {
  const { currentReplicas, pods, tolerances } = target;
  if ("average" in wanted) {
    const { average, statusReplicas } = wanted;
    const ratio = usage / (average * statusReplicas);
    const needed = Math.min(Math.ceil(usage / average), largestInt32);
    const replicas = isWithin(tolerances, ratio) ? statusReplicas : needed;
    return { replicas, usage: Math.ceil(usage / statusReplicas) };
  }
  const ratio = usage / wanted.value;
  // Without pods the ratio alone determines the replicas.
  if (currentReplicas === 0) return { replicas: Math.ceil(ratio), usage };
  if (isWithin(tolerances, ratio)) return { replicas: currentReplicas, usage };
  if (pods.length === 0) throw new Error(`unable to calculate ready pods: ${noPods}`);
  return { replicas: Math.ceil(ratio * pods.filter(isReady).length), usage };
}

function plainJudgement(resource: string, average: number): Judgement {
  return {
    resource,
    ratioOf: (metrics) => {
      const total = [...metrics.values()].reduce((sum, { value }) => sum + value, 0);
      const usage = Math.trunc(total / metrics.size);
      return { ratio: usage / average, usage };
    },
    assumed: () => average,
  };
}

function utilizationRatio(
  metrics: PodMetrics,
  requests: ReadonlyMap<string, number>,
  percent: number,
): Ratio {
  let used = 0;
  let requested = 0;
  let count = 0;
  for (const [pod, { value }] of metrics) {
    const request = requests.get(pod);
    if (request === undefined) continue;
    used += value;
    requested += request;
    count++;
  }
  if (requested === 0) throw new Error("no metrics returned matched known pods");
  const utilization = Math.trunc((used * 100) / requested);
  return { ratio: utilization / percent, usage: Math.trunc(used / count), utilization };
}

function isWithin({ scaleDown, scaleUp }: Tolerances, ratio: number): boolean {
  return 1 - scaleDown <= ratio && ratio <= 1 + scaleUp;
}

function failed(what: string, error: unknown): never {
  throw new Error(`${what}: ${textOf(error)}`);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
