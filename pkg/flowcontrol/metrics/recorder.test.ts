import assert from "node:assert/strict";
import { PrometheusMetrics } from "#server";
import type { LimitedSettings } from "../contract.ts";
import { fair, TestDispatcher } from "../testing.ts";
import { flowControlMetrics } from "./definitions.ts";

const prefix = "apiserver_flowcontrol_";
const rejecting: LimitedSettings = { ...fair, name: "catch-all", queuing: undefined };

/** Two levels with one seat each. */
function measured() {
  const metrics = new PrometheusMetrics();
  metrics.instruments.define(Object.values(flowControlMetrics));
  const narrow = { ...fair, queuing: { queues: 2, handSize: 1, queueLengthLimit: 2 } };
  const { instruments } = metrics;
  const on = new TestDispatcher([narrow, rejecting], 2, { instruments });
  /** Samples as `name{labels} value`, without the prefix. */
  const samples = async (start: string): Promise<readonly string[]> => {
    const lines = (await metrics.text()).split("\n");
    return lines
      .filter((line) => line.startsWith(`${prefix}${start}`))
      .map((line) => line.slice(prefix.length));
  };
  return { on, samples, metrics };
}

const flow = 'priority_level="fair",flow_schema="all"';

describe("flow-control metrics", () => {
  it("count dispatched requests, and rejected ones by reason", async () => {
    const { on, samples } = measured();
    on.execute({ flow: "a" }, 100);
    on.execute({ flow: "a", maxWaitMs: 20 }, 10);
    on.execute({ flow: "a" }, 10);
    on.execute({ flow: "a" }, 10);
    on.execute({ level: "catch-all" }, 1000);
    on.execute({ level: "catch-all" }, 1000);
    await on.clock.pass(200);
    assert.deepEqual((await samples("rejected_requests_total")).toSorted(), [
      'rejected_requests_total{priority_level="catch-all",flow_schema="all",reason="concurrency-limit"} 1',
      `rejected_requests_total{${flow},reason="queue-full"} 1`,
      `rejected_requests_total{${flow},reason="time-out"} 1`,
    ]);
    const dispatched = `dispatched_requests_total{${flow}}`;
    assert.deepEqual(await samples(dispatched), [`${dispatched} 2`]);
    assert.deepEqual(await samples(dispatched), [`${dispatched} 2`]);
    const waits = `request_wait_duration_seconds_sum{${flow},execute=`;
    assert.deepEqual(await samples(waits), [`${waits}"true"} 0.1`, `${waits}"false"} 0.02`]);
  });

  it("report waiting and executing requests and seats", async () => {
    const { on, samples } = measured();
    on.execute({ flow: "a", seats: 3, verb: "watch" }, 500);
    on.execute({ flow: "a", seats: 2 }, 500);
    const shown = async () => [
      ...(await samples(`current_inqueue_requests{${flow}}`)),
      ...(await samples(`current_inqueue_seats{${flow}}`)),
      ...(await samples(`current_executing_requests{${flow}}`)),
      ...(await samples(`current_executing_seats{${flow}}`)),
    ];
    const values = async () => (await shown()).map((line) => Number(line.split(" ").at(-1)));
    assert.deepEqual(await values(), [1, 2, 1, 3]);
    await on.clock.pass(750);
    assert.deepEqual(await values(), [0, 0, 1, 2]);
    await on.clock.pass(750);
    assert.deepEqual(await values(), [0, 0, 0, 0]);
    const executed = `request_execution_seconds_sum{${flow},type=`;
    assert.deepEqual(await samples(executed), [
      `${executed}"regular"} 0.5`,
      `${executed}"watch"} 0.5`,
    ]);
    const seats = `work_estimated_seats_bucket{${flow},le="2"}`;
    assert.deepEqual(await samples(seats), [`${seats} 1`]);
    assert.deepEqual(await samples(`request_queue_length_after_enqueue_count{${flow}}`), [
      `request_queue_length_after_enqueue_count{${flow}} 2`,
    ]);
  });

  it("weight fractions by nanoseconds", async () => {
    const { on, samples } = measured();
    on.execute({ level: "catch-all", verb: "create" }, 250);
    await on.clock.pass(1000);
    const at = async (name: string, labels: string) => {
      const lines = await samples(name);
      const found = lines.filter((line) => line.includes(`{${labels}}`));
      return found.map((line) => Number(line.split(" ").at(-1)));
    };
    const labels = 'phase="executing",priority_level="catch-all"';
    const name = "priority_level_seat_utilization";
    assert.deepEqual(await at(`${name}_bucket`, `${labels},le="0.99"`), [750e6]);
    assert.deepEqual(await at(`${name}_bucket`, `${labels},le="1"`), [1000e6]);
    assert.deepEqual(await at(`${name}_sum`, labels), [250e6]);
    const requests = "priority_level_request_utilization_sum";
    assert.deepEqual(await at(requests, labels), [250e6]);
    const mutating = 'phase="executing",request_kind="mutating"';
    assert.deepEqual(await at("read_vs_write_current_requests_sum", mutating), [125e6]);
    assert.deepEqual(await at("demand_seats_sum", 'priority_level="catch-all"'), [250e6]);
    assert.deepEqual(await at("demand_seats_count", 'priority_level="catch-all"'), [1000e6]);
  });

  it("report limits, demand and progress", async () => {
    const { on, samples } = measured();
    on.execute({ flow: "a" }, 5_000);
    on.execute({ flow: "a" }, 1e6);
    on.execute({ flow: "a" }, 1e6);
    await on.clock.pass(10_000);
    const fairOnly = async (name: string) => {
      const lines = await samples(`${name}{`);
      const own = lines.filter((line) => line.includes('"fair"'));
      return own.map((line) => Number(line.split(" ").at(-1)));
    };
    for (const limit of ["nominal", "lower", "upper", "current"]) {
      assert.deepEqual(await fairOnly(`${limit}_limit_seats`), [1], limit);
    }
    assert.deepEqual(await fairOnly("demand_seats_high_watermark"), [3]);
    assert.deepEqual(await fairOnly("demand_seats_average"), [2.5]);
    assert.deepEqual(await fairOnly("demand_seats_stdev"), [0.5]);
    assert.deepEqual(await fairOnly("demand_seats_smoothed"), [3]);
    assert.deepEqual(await fairOnly("target_seats"), [3]);
    assert.deepEqual(await fairOnly("current_r"), [10]);
    assert.deepEqual(await fairOnly("dispatch_r"), [5]);
    const bounds = await fairOnly("next_s_bounds");
    assert.equal(bounds.length, 2);
    assert.ok(bounds[0] === bounds[1] && bounds[0]! >= 5);
    assert.equal((await fairOnly("next_discounted_s_bounds"))[0], bounds[0]! - 0.003);
    assert.match((await samples("seat_fair_frac")).join(), /^seat_fair_frac [\d.]+$/);
  });

  it("are all defined with Kubernetes' names", async () => {
    const { metrics } = measured();
    const text = await metrics.text();
    const types = [...text.matchAll(/^# TYPE apiserver_flowcontrol_(\w+) (\w+)$/gm)];
    assert.equal(types.length, 32);
  });
});
