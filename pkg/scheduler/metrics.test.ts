import assert from "node:assert/strict";
import type { Instruments, MetricLabels } from "#request";
import { startController } from "../controllers/testing.ts";
import { testRegistry } from "../registry/testing.ts";
import { defaultSchedulerSettings, runScheduler, schedulerMetrics } from "./index.ts";

/** Samples with a value other than 0, as `name{label=value}`; refuses labels that are not defined. */
class RecordedMetrics implements Instruments {
  private readonly samples = new Map<string, number>();
  private readonly refreshers: (() => void | Promise<void>)[] = [];

  add(metric: string, labels: MetricLabels, amount: number): void {
    const key = this.keyOf(metric, labels);
    this.samples.set(key, (this.samples.get(key) ?? 0) + amount);
  }

  set(metric: string, labels: MetricLabels, value: number): void {
    this.samples.set(this.keyOf(metric, labels), value);
  }

  remove(metric: string, labels: MetricLabels): void {
    this.samples.delete(this.keyOf(metric, labels));
  }

  observe(metric: string, labels: MetricLabels): void {
    this.add(metric, labels, 1);
  }

  observer(metric: string, labels: MetricLabels): () => void {
    return () => this.observe(metric, labels);
  }

  beforeRead(refresh: () => void | Promise<void>): void {
    this.refreshers.push(refresh);
  }

  async read(): Promise<ReadonlyMap<string, number>> {
    for (const refresh of this.refreshers) await refresh();
    return new Map([...this.samples].filter(([, value]) => value !== 0));
  }

  private keyOf(metric: string, labels: MetricLabels): string {
    const defined = schedulerMetrics.find(({ name }) => name === metric);
    if (!metric.startsWith("scheduler_")) return metric;
    assert.deepEqual(Object.keys(labels).sort(), [...(defined?.labels ?? [])].sort(), metric);
    const texts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    return `${metric.replace("scheduler_", "")}{${texts.sort().join()}}`;
  }
}

const node = (name: string, cpu: string) => {
  const amounts = { cpu, memory: "1Gi", pods: "10" };
  return { metadata: { name }, spec: {}, status: { allocatable: amounts, capacity: amounts } };
};
const pod = (name: string, cpu: string, more: object = {}) => {
  const containers = [{ name: "c", image: "i", resources: { requests: { cpu } } }];
  const spec = { containers, schedulerName: "default-scheduler", ...more };
  return { metadata: { name }, spec: { ...spec, terminationGracePeriodSeconds: 0 } };
};

describe("metrics of the scheduler", () => {
  it("count events, hints, queues and preemptions with kube-scheduler's labels", async () => {
    const test = await testRegistry({ namespaces: ["ns"] });
    const metrics = new RecordedMetrics();
    const run = await startController(
      (context) => runScheduler({ ...context, instruments: metrics }, defaultSchedulerSettings),
      { test },
    );
    const isBound = (name: string) => async () =>
      (await test.get(`v1/pods/ns/${name}`)).object.spec.nodeName;
    await test.post("v1/nodes", node("a", "1"));
    await test.post("v1/pods/ns", pod("low", "1"));
    await run.until(isBound("low"));
    await test.post("v1/pods/ns", pod("gated", "1", { schedulingGates: [{ name: "g" }] }));
    await test.post("v1/pods/ns", pod("high", "1", { priority: 10 }));
    await run.until(isBound("high"));
    await test.post("v1/pods/ns", pod("waiting", "1"));
    const pending = "unschedulable_pods{plugin=NodeResourcesFit,profile=default-scheduler}";
    await run.until(async () => (await metrics.read()).has(pending));
    await test.post("v1/nodes", node("b", "1"));
    await run.until(isBound("waiting"));
    await run.until(async () => !(await metrics.read()).has("goroutines{operation=binding}"));
    const samples = await metrics.read();
    await run.stop();
    const expected = {
      "event_handling_duration_seconds{event=NodeAdd}": 2,
      "event_handling_duration_seconds{event=UnschedulablePodAdd}": 4,
      "event_handling_duration_seconds{event=AssignedPodDelete}": 1,
      "queueing_hint_execution_duration_seconds{event=NodeAdd,hint=Queue,plugin=NodeResourcesFit}": 1,
      "queue_incoming_pods_total{event=UnschedulablePodAdd,queue=active}": 3,
      "queue_incoming_pods_total{event=UnschedulablePodAdd,queue=unschedulable}": 1,
      "pending_pods{queue=gated}": 1,
      "preemption_goroutines_execution_total{result=success}": 1,
      "preemption_goroutines_duration_seconds{result=success}": 1,
      "preemption_victims{}": 1,
    };
    const found = Object.keys(expected).map((name) => [name, samples.get(name)]);
    assert.deepEqual(Object.fromEntries(found), expected);
  });
});
