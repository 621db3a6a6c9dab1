import { deepEqual, realClock } from "#base";
import { type Draft, type Informer, objectKey, type WorkQueue, CoreEventRecorder } from "#client";
import { parseLabelSelector, Quantity } from "#meta";
import { ByNamespace } from "../by-namespace.ts";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import {
  type Autoscaler,
  autoscalers as autoscalerHandle,
  type AutoscalerStatus,
  type MetricSpec,
  type MetricStatus,
  type Scale,
} from "./autoscaling-kinds.ts";
import {
  type Condition,
  gotScale,
  scalingDisabled,
  StatusDraft,
  validMetric,
} from "./autoscaler-status.ts";
import {
  evaluateMetric,
  type Evaluation,
  MetricError,
  type MetricProposal,
  unknownMetric,
} from "./metric-evaluation.ts";
import { MetricsClient } from "./metrics-client.ts";
import { type ScaledPod, scaledPods } from "./pod-samples.ts";
import { ReplicaCalculator, type Tolerances } from "./replica-calculator.ts";
import { ScaleHistory } from "./scale-history.ts";
import { type FoundScale, InvalidReference, readScale, updateScale } from "./scale-target.ts";

export interface AutoscalerOptions {
  readonly autoscalerWorkers: number;
  /** Interval of syncs of an autoscaler. */
  readonly autoscalerSyncMs: number;
  /** Default scale-down stabilization window: the highest recommendation in it is used. */
  readonly downscaleStabilizationMs: number;
  /** Maximum relative deviation from the target that does not change the replicas. */
  readonly autoscalerTolerance: number;
  readonly cpuInitializationMs: number;
  readonly initialReadinessMs: number;
}

/** kube-controller-manager's defaults. */
export const defaultAutoscalerOptions: AutoscalerOptions = {
  autoscalerWorkers: 5,
  autoscalerSyncMs: 15_000,
  downscaleStabilizationMs: 300_000,
  autoscalerTolerance: 0.1,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
};

/** Desired replicas of a target, and the reason. */
interface Decision {
  readonly replicas: number;
  readonly conditions: readonly Condition[];
  /** Reason of the change, for the Event. */
  readonly reason: string;
  readonly metrics: readonly MetricStatus[] | null;
  /** Error of failed metrics, if the others suffice to scale. */
  readonly failure?: Error;
}

interface Computed extends Pick<Decision, "metrics" | "failure"> {
  readonly replicas: number;
  /** The metric with the highest proposal, as named in Events. */
  readonly name: string;
}

/** No replica count can be computed; the conditions give the reason. */
class Undecided extends Error {
  override readonly name = "Undecided";
  constructor(
    message: string,
    readonly condition: Condition,
    readonly metrics: readonly MetricStatus[] | null,
  ) {
    super(message);
  }
}

/** Scales the targets of HorizontalPodAutoscalers by their metrics. */
export async function runHorizontalPodAutoscaler(
  context: ControllerContext,
  options: AutoscalerOptions,
): Promise<void> {
  const controller = new HorizontalPodAutoscalerController(context, options);
  await controller.run();
}

class HorizontalPodAutoscalerController {
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly autoscalers: Informer<Autoscaler>;
  private readonly pods: Informer<ScaledPod>;
  private readonly podsIn: ByNamespace<ScaledPod>;
  private readonly calculator: ReplicaCalculator;
  private readonly histories = new Map<string, ScaleHistory>();
  /** Pod selector of each autoscaler that was synced, by key. */
  private readonly selectors = new Map<string, string>();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: AutoscalerOptions,
  ) {
    const { informers, client, clock } = context;
    this.queue = newWorkQueue(context, "horizontalpodautoscaler");
    this.recorder = new CoreEventRecorder(context, "horizontal-pod-autoscaler");
    this.autoscalers = informers.of(autoscalerHandle);
    this.pods = informers.of(scaledPods);
    this.podsIn = new ByNamespace(this.pods);
    this.calculator = new ReplicaCalculator(new MetricsClient(client), clock, options);
  }

  async run(): Promise<void> {
    const { autoscalerSyncMs: syncMs, autoscalerWorkers: workers } = this.options;
    // As in kube-controller-manager every sync waits for the period, also after a change.
    this.autoscalers.subscribe(({ object }) => this.queue.addAfter(objectKey(object), syncMs));
    await Promise.all([this.autoscalers.untilSynced(), this.pods.untilSynced()]);
    await Promise.all([this.recorder.run(), this.queue.run((key) => this.sync(key), { workers })]);
  }

  private async sync(key: string): Promise<void> {
    const autoscaler = this.autoscalers.get(key);
    if (autoscaler === undefined) {
      this.histories.delete(key);
      this.selectors.delete(key);
      return;
    }
    const { instruments, report, signal } = this.context;
    const clock = realClock(this.context.clock);
    const began = clock.monotonic();
    let action = "none";
    let error = "none";
    try {
      action = await this.reconcile(autoscaler);
    } catch (failure) {
      error = failure instanceof InvalidReference ? "spec" : "internal";
      if (!signal.aborted) report(`Failed to sync HorizontalPodAutoscaler ${key}`, failure);
    }
    const labels = { action, error };
    const seconds = (clock.monotonic() - began) / 1000;
    instruments.add("horizontal_pod_autoscaler_controller_reconciliations_total", labels, 1);
    const duration = "horizontal_pod_autoscaler_controller_reconciliation_duration_seconds";
    instruments.observe(duration, labels, seconds);
    this.queue.addAfter(key, this.options.autoscalerSyncMs);
  }

  /** Returns the action, a metric label: `scale_up`, `scale_down` or `none`. */
  private async reconcile(autoscaler: Autoscaler): Promise<string> {
    const found = await this.scaleOf(autoscaler);
    const currentReplicas = found.scale.spec?.replicas ?? 0;
    const history = this.historyOf(objectKey(autoscaler), currentReplicas);
    const draft = new StatusDraft(this.context, autoscaler);
    draft.set(gotScale);
    let decision: Decision;
    try {
      decision = await this.decide(autoscaler, found.scale, history);
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      draft.set(error.condition);
      const { desiredReplicas = 0 } = autoscaler.status ?? {};
      await this.write(draft, { currentReplicas, desiredReplicas, currentMetrics: error.metrics });
      this.warn(autoscaler, "FailedComputeMetricsReplicas", error.message);
      throw error;
    }
    for (const condition of decision.conditions) draft.set(condition);
    const { replicas: desiredReplicas, metrics: currentMetrics, failure } = decision;
    const rescales = desiredReplicas !== currentReplicas;
    if (rescales) await this.rescale(autoscaler, found, decision, draft);
    const { now } = draft;
    const lastScaleTime = rescales ? { lastScaleTime: now } : {};
    await this.write(draft, { currentReplicas, desiredReplicas, currentMetrics, ...lastScaleTime });
    if (failure !== undefined) throw failure;
    if (!rescales) return "none";
    return desiredReplicas > currentReplicas ? "scale_up" : "scale_down";
  }

  private async scaleOf(autoscaler: Autoscaler): Promise<FoundScale> {
    const { namespace = "" } = autoscaler.metadata;
    const { scaleTargetRef: reference } = autoscaler.spec;
    try {
      return await readScale(this.context.client, { namespace, reference });
    } catch (error) {
      const text = textOf(error);
      this.warn(autoscaler, "FailedGetScale", text);
      const message = `the HPA controller was unable to get the target's current scale: ${text}`;
      const draft = new StatusDraft(this.context, autoscaler);
      draft.set({ type: "AbleToScale", status: "False", reason: "FailedGetScale", message });
      await this.write(draft, {});
      if (error instanceof InvalidReference) throw error;
      const { kind, name } = reference;
      const targetName = `${kind}/${namespace}/${name}`;
      throw new Error(`failed to query scale subresource for ${targetName}: ${text}`, {
        cause: error,
      });
    }
  }

  private historyOf(key: string, currentReplicas: number): ScaleHistory {
    const { downscaleStabilizationMs } = this.options;
    const known = this.histories.get(key);
    if (known !== undefined) return known;
    const history = new ScaleHistory(this.context.clock, downscaleStabilizationMs, currentReplicas);
    this.histories.set(key, history);
    return history;
  }

  private async decide(
    autoscaler: Autoscaler,
    scale: Scale,
    history: ScaleHistory,
  ): Promise<Decision> {
    const { minReplicas = 1, maxReplicas, behavior } = autoscaler.spec;
    const currentReplicas = scale.spec?.replicas ?? 0;
    const bare = { conditions: [], metrics: null };
    if (currentReplicas === 0 && minReplicas !== 0) {
      return { ...bare, replicas: 0, reason: "", conditions: [scalingDisabled] };
    }
    if (currentReplicas > maxReplicas) {
      const reason = "Current number of replicas above Spec.MaxReplicas";
      return { ...bare, replicas: maxReplicas, reason };
    }
    if (currentReplicas < minReplicas) {
      const reason = "Current number of replicas below Spec.MinReplicas";
      return { ...bare, replicas: minReplicas, reason };
    }
    const computed = await this.compute(autoscaler, scale);
    const { replicas: desiredReplicas, name } = computed;
    const bounds = { currentReplicas, desiredReplicas, minReplicas, maxReplicas };
    const { replicas, conditions } = history.limit(bounds, behavior);
    const reason =
      desiredReplicas > currentReplicas ? `${name} above target` : "All metrics below target";
    const { metrics, failure } = computed;
    const why = { reason, metrics, ...(failure === undefined ? {} : { failure }) };
    return { replicas, conditions: [validMetric(name), ...conditions], ...why };
  }

  /** The highest replica count that any metric proposes. @throws Undecided */
  private async compute(autoscaler: Autoscaler, scale: Scale): Promise<Computed> {
    const { metrics = [] } = autoscaler.spec;
    const specReplicas = scale.spec?.replicas ?? 0;
    const target = this.targetOf(autoscaler, scale);
    const statusReplicas = scale.status?.replicas ?? 0;
    const evaluation = { calculator: this.calculator, target, statusReplicas };
    const statuses: MetricStatus[] = [];
    let best = { replicas: 0, name: "" };
    const failures: MetricError[] = [];
    for (const metric of metrics) {
      try {
        const { status, ...proposal } = await this.measured(metric, autoscaler, evaluation);
        statuses.push(status);
        if (best.replicas === 0 || proposal.replicas > best.replicas) best = proposal;
      } catch (error) {
        if (!(error instanceof MetricError)) throw error;
        this.warn(autoscaler, error.reason, error.detail);
        failures.push(error);
        statuses.push(unknownMetric);
      }
    }
    const [first] = failures;
    if (first === undefined) return { ...best, metrics: statuses };
    const count = `${failures.length} invalid out of ${metrics.length}`;
    const message = `invalid metrics (${count}), first error is: ${first.message}`;
    // A failed metric might propose more replicas: no scale-down.
    if (failures.length >= metrics.length || best.replicas < specReplicas) {
      throw new Undecided(message, first.condition, statuses);
    }
    return { ...best, metrics: statuses, failure: new Error(message) };
  }

  private async measured(
    metric: MetricSpec,
    { status }: Autoscaler,
    evaluation: Evaluation,
  ): Promise<MetricProposal> {
    const { instruments } = this.context;
    const clock = realClock(this.context.clock);
    const began = clock.monotonic();
    const observe = (action: string, error: string) => {
      const labels = { action, error, metric_type: metric.type };
      const seconds = (clock.monotonic() - began) / 1000;
      instruments.add("horizontal_pod_autoscaler_controller_metric_computation_total", labels, 1);
      const duration = "horizontal_pod_autoscaler_controller_metric_computation_duration_seconds";
      instruments.observe(duration, labels, seconds);
    };
    try {
      const proposal = await evaluateMetric(metric, evaluation);
      const change = proposal.replicas - (status?.currentReplicas ?? 0);
      observe(change > 0 ? "scale_up" : change < 0 ? "scale_down" : "none", "none");
      return proposal;
    } catch (error) {
      const isSpec = error instanceof MetricError && error.reason === "InvalidMetricSourceType";
      observe("none", isSpec ? "spec" : "internal");
      throw error;
    }
  }

  /** The pods of the target. @throws Undecided without a selector, or if another autoscaler shares pods */
  private targetOf(autoscaler: Autoscaler, scale: Scale) {
    const { namespace = "" } = autoscaler.metadata;
    const selector = scale.status?.selector ?? "";
    if (selector === "") {
      this.warn(autoscaler, "SelectorRequired", "selector is required");
      const message = "the HPA target's scale is missing a selector";
      throw invalidSelector("selector is required", "InvalidSelector", message);
    }
    const parsed = parsedSelector(selector);
    if (parsed instanceof Error) {
      const text = parsed.message;
      const message = `couldn't convert selector into a corresponding internal selector object: ${text}`;
      this.warn(autoscaler, "InvalidSelector", message);
      throw invalidSelector(message, "InvalidSelector", message);
    }
    this.selectors.set(objectKey(autoscaler), selector);
    const pods = [...this.podsIn.in(namespace)].filter(({ metadata }) =>
      parsed.matches(metadata.labels ?? {}),
    );
    const keys = this.autoscalersOf(namespace, pods);
    if (keys.length > 1) {
      const names = keys.map((key) => `{${key.split("/").toReversed().join(" ")}}`).join(" ");
      const message = `pods by selector ${selector} are controlled by multiple HPAs: [${names}]`;
      this.warn(autoscaler, "AmbiguousSelector", message);
      throw invalidSelector(message, "AmbiguousSelector", message);
    }
    const currentReplicas = scale.spec?.replicas ?? 0;
    return {
      namespace,
      selector,
      pods,
      currentReplicas,
      tolerances: this.tolerancesOf(autoscaler),
    };
  }

  /** Keys of the autoscalers that select one of the pods. */
  private autoscalersOf(namespace: string, pods: readonly ScaledPod[]): readonly string[] {
    return [...this.selectors]
      .filter(([key, selector]) => {
        if (!key.startsWith(`${namespace}/`)) return false;
        const selection = parseLabelSelector(selector);
        return pods.some(({ metadata }) => selection.matches(metadata.labels ?? {}));
      })
      .map(([key]) => key);
  }

  private tolerancesOf({ spec }: Autoscaler): Tolerances {
    const { autoscalerTolerance } = this.options;
    const toleranceOf = (tolerance: string | undefined) =>
      tolerance === undefined ? autoscalerTolerance : Quantity.parse(tolerance).toNumber();
    const { scaleUp, scaleDown } = spec.behavior ?? {};
    return {
      scaleUp: toleranceOf(scaleUp?.tolerance),
      scaleDown: toleranceOf(scaleDown?.tolerance),
    };
  }

  private async rescale(
    autoscaler: Autoscaler,
    found: FoundScale,
    { replicas, reason, metrics }: Decision,
    draft: StatusDraft,
  ): Promise<void> {
    const currentReplicas = found.scale.spec?.replicas ?? 0;
    try {
      await updateScale(this.context.client, found, replicas);
    } catch (error) {
      const text = textOf(error);
      const note = `New size: ${replicas}; reason: ${reason}; error: ${text}`;
      this.warn(autoscaler, "FailedRescale", note);
      const message = `the HPA controller was unable to update the target scale: ${text}`;
      draft.set({ type: "AbleToScale", status: "False", reason: "FailedUpdateScale", message });
      const { desiredReplicas = 0 } = autoscaler.status ?? {};
      await this.write(draft, { currentReplicas, desiredReplicas, currentMetrics: metrics });
      const { kind, name } = autoscaler.spec.scaleTargetRef;
      const targetName = `${kind}/${autoscaler.metadata.namespace}/${name}`;
      throw new Error(`failed to rescale ${targetName}: ${text}`, { cause: error });
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    draft.set({ type: "AbleToScale", status: "True", reason: "SucceededRescale", message });
    const note = `New size: ${replicas}; reason: ${reason}`;
    this.recorder.record(autoscalerHandle, autoscaler, {
      type: "Normal",
      reason: "SuccessfulRescale",
      message: note,
    });
    const history = this.historyOf(objectKey(autoscaler), currentReplicas);
    history.record(currentReplicas, replicas, autoscaler.spec.behavior);
  }

  private warn(autoscaler: Autoscaler, reason: string, message: string): void {
    this.recorder.record(autoscalerHandle, autoscaler, { type: "Warning", reason, message });
  }

  /** Writes the status if it changed. */
  private async write(draft: StatusDraft, changes: AutoscalerStatus): Promise<void> {
    const { autoscaler } = draft;
    const status = { ...autoscaler.status, ...changes, conditions: draft.conditions };
    if (deepEqual(status, autoscaler.status)) return;
    const object = { ...autoscaler, status } as Draft<Autoscaler>;
    try {
      await this.context.client.update(autoscalerHandle, object, { subresource: "status" });
    } catch (error) {
      this.warn(autoscaler, "FailedUpdateStatus", textOf(error));
      const { name } = autoscaler.metadata;
      throw new Error(`failed to update status for ${name}: ${textOf(error)}`, { cause: error });
    }
  }
}

function parsedSelector(text: string) {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    return error as Error;
  }
}

function invalidSelector(text: string, reason: string, message: string): Undecided {
  return new Undecided(text, { type: "ScalingActive", status: "False", reason, message }, null);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
