import {
  type Draft,
  type Informer,
  type InformerEvent,
  objectKey,
  RequeueAfter,
  type WorkQueue,
  CoreEventRecorder,
} from "#client";
import {
  type Pod,
  type PodDisruptionBudget,
  podDisruptionBudgets,
  type PodDisruptionBudgetStatus,
  pods as podHandle,
} from "#kinds";
import { formatSeconds, goQuote, isConflict, isNotFound, selectorFromLabelSelector } from "#meta";
import { ByNamespace } from "../by-namespace.ts";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { scaledValue } from "../scaled-value.ts";
import {
  countHealthy,
  disruptedPodsOf,
  failedStatus,
  dependsOnScale,
  nextStatus,
  printSelector,
} from "./budget-status.ts";
import { ControllerScales, type Workload } from "./controller-scales.ts";
import { runStaleDisruptionTarget } from "./stale-disruption-target.ts";

/** Source component of Events, as in kube-controller-manager. */
const component = "controllermanager";

/**
 * Maintains the status of PodDisruptionBudgets, on which evictions depend, and resets stale conditions
 * DisruptionTarget of pods.
 */
export async function runDisruptionController(context: ControllerContext): Promise<void> {
  await Promise.all([new DisruptionController(context).run(), runStaleDisruptionTarget(context)]);
}

class DisruptionController {
  private readonly queue: WorkQueue;
  private readonly budgets: Informer<PodDisruptionBudget>;
  private readonly pods: Informer<Pod>;
  private readonly budgetsIn: ByNamespace<PodDisruptionBudget>;
  private readonly podsIn: ByNamespace<Pod>;
  private readonly scales: ControllerScales;
  private readonly recorder: CoreEventRecorder;

  constructor(private readonly context: ControllerContext) {
    const { informers } = context;
    this.queue = newWorkQueue(context, "disruption");
    this.budgets = informers.of(podDisruptionBudgets);
    this.pods = informers.of(podHandle);
    this.budgetsIn = new ByNamespace(this.budgets);
    this.podsIn = new ByNamespace(this.pods);
    this.scales = new ControllerScales(context, informers);
    this.recorder = new CoreEventRecorder(context, component);
  }

  async run(): Promise<void> {
    this.budgets.subscribe(({ type, object }) => {
      if (type !== "deleted") this.queue.add(objectKey(object));
    });
    const needed = [this.budgets, this.pods, ...this.scales.informers];
    await Promise.all(needed.map((informer) => informer.untilSynced()));
    this.pods.subscribe((change) => this.podChanged(change));
    for (const workloads of this.scales.informers) {
      workloads.subscribe((change) => this.workloadChanged(change));
    }
    await Promise.all([this.recorder.run(), this.queue.run((key) => this.sync(key))]);
  }

  private podChanged(change: InformerEvent<Pod>): void {
    const { object } = change;
    const found = this.budgetsOf(object);
    const before = change.type === "updated" ? this.budgetsOf(change.before) : [];
    for (const budget of [...found, ...before]) this.queue.add(objectKey(budget));
    const [first] = found;
    if (first === undefined || found.length === 1) return;
    const { namespace = "", name } = object.metadata;
    const chosen = `Chose ${goQuote(first.metadata.name)} arbitrarily.`;
    const which = `Pod ${goQuote(namespace)}/${goQuote(name)}`;
    this.recorder.record(podHandle, object, {
      type: "Warning",
      reason: "MultiplePodDisruptionBudgets",
      message: `${which} matches multiple PodDisruptionBudgets.  ${chosen}`,
    });
  }

  private workloadChanged(change: InformerEvent<Workload>): void {
    const { object } = change;
    if (change.type === "updated" && change.before.spec?.replicas === object.spec?.replicas) return;
    for (const budget of this.budgetsIn.in(object.metadata.namespace ?? "")) {
      if (dependsOnScale(budget)) this.queue.add(objectKey(budget));
    }
  }

  private budgetsOf({
    metadata: { namespace = "", labels = {} },
  }: Pod): readonly PodDisruptionBudget[] {
    return [...this.budgetsIn.in(namespace)].filter(({ spec }) =>
      selectorFromLabelSelector(spec?.selector).matches(labels),
    );
  }

  private async sync(key: string): Promise<void> {
    const budget = this.budgets.get(key);
    if (budget === undefined) return;
    try {
      await this.trySync(budget, key);
    } catch (error) {
      // Stale budget: the queue retries.
      if (isConflict(error)) throw error;
      if (isNotFound(error)) return;
      const message = error instanceof Error ? error.message : String(error);
      await this.write(budget, failedStatus(budget, message, this.now()));
      throw new RequeueAfter(message);
    }
  }

  private async trySync(budget: PodDisruptionBudget, key: string): Promise<void> {
    const { clock } = this.context;
    const selector = selectorFromLabelSelector(budget.spec?.selector);
    const pods = [...this.podsIn.in(budget.metadata.namespace ?? "")].filter(({ metadata }) =>
      selector.matches(metadata.labels ?? {}),
    );
    if (pods.length === 0) this.recordEvent(budget, "Normal", "NoPods", "No matching pods found");
    const { expectedPods, desiredHealthy } = await this.expectations(budget, pods);
    const disrupted = disruptedPodsOf(budget, pods, clock.now());
    for (const pod of disrupted.overdue) this.recordOverdue(budget, pod);
    const currentHealthy = countHealthy(pods, disrupted.pods);
    const counts = { currentHealthy, desiredHealthy, expectedPods, disruptedPods: disrupted.pods };
    await this.write(budget, nextStatus(budget, counts, this.now()));
    const { recheckAt } = disrupted;
    // The eviction is overdue one millisecond after `recheckAt`.
    if (recheckAt < Infinity) this.queue.addAfter(key, recheckAt - clock.now() + 1);
  }

  private async expectations(budget: PodDisruptionBudget, pods: readonly Pod[]) {
    const { minAvailable, maxUnavailable } = budget.spec ?? {};
    if (!dependsOnScale(budget)) {
      const desiredHealthy = Number(minAvailable ?? 0);
      return { expectedPods: minAvailable === undefined ? 0 : pods.length, desiredHealthy };
    }
    const { count: expectedPods, hasUnmanaged } = await this.expectedScale(budget, pods);
    if (hasUnmanaged) this.recordUnmanaged(budget);
    if (maxUnavailable === undefined) {
      return { expectedPods, desiredHealthy: scaledValue(minAvailable ?? 0, expectedPods) };
    }
    const desired = expectedPods - scaledValue(maxUnavailable, expectedPods);
    return { expectedPods, desiredHealthy: Math.max(desired, 0) };
  }

  private async expectedScale(budget: PodDisruptionBudget, pods: readonly Pod[]) {
    try {
      return await this.scales.expectedScale(pods);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const message = `Failed to calculate the number of expected pods: ${reason}`;
      this.recordEvent(budget, "Warning", "CalculateExpectedPodCountFailed", message);
      throw new Error(reason, { cause: error });
    }
  }

  private async write(
    budget: PodDisruptionBudget,
    status: PodDisruptionBudgetStatus,
  ): Promise<void> {
    if (status === budget.status) return;
    const draft = { ...budget, status } as Draft<PodDisruptionBudget>;
    await this.context.client.update(podDisruptionBudgets, draft, { subresource: "status" });
  }

  private recordUnmanaged(budget: PodDisruptionBudget): void {
    const message =
      `Pods selected by this PodDisruptionBudget (selector: ${printSelector(budget.spec?.selector)}) ` +
      "were found to be unmanaged. As a result, the status of the PDB cannot be calculated " +
      "correctly, which may result in undefined behavior. To account for these pods please set " +
      '".spec.minAvailable" field of the PDB to an integer value.';
    this.recordEvent(budget, "Warning", "UnmanagedPods", message);
  }

  private recordOverdue({ metadata: { namespace = "" } }: PodDisruptionBudget, pod: Pod): void {
    // kube-controller-manager prints the namespace twice instead of namespace/name.
    const message = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`;
    this.recorder.record(podHandle, pod, { type: "Warning", reason: "NotDeleted", message });
  }

  private recordEvent(
    budget: PodDisruptionBudget,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    this.recorder.record(podDisruptionBudgets, budget, { type, reason, message });
  }

  private now(): string {
    const seconds = Math.floor(this.context.clock.now() / 1000);
    return formatSeconds({ seconds, nanos: 0 });
  }
}
