import assert from "node:assert/strict";
import { PrometheusMetrics, type RequestRecord } from "./metrics.ts";

const record: RequestRecord = {
  verb: "get",
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "",
  scope: "resource",
  dryRun: false,
  longRunning: false,
  code: 200,
};

async function linesOf(metrics: PrometheusMetrics, start: string): Promise<readonly string[]> {
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith(start));
  return lines.map((line) => line.replace(/component="apiserver",?/, ""));
}

describe("metrics", () => {
  it("count requests by what they were, and how long they took", async () => {
    const metrics = new PrometheusMetrics();
    metrics.request(record, 0.001);
    metrics.request({ ...record, code: 404 }, 0.03);
    metrics.request(record, 70);
    metrics.request({ ...record, verb: "watch", longRunning: true }, 1000);
    const counts = await linesOf(metrics, "apiserver_request_total");
    assert.deepEqual(
      counts.map((line) => line.replace(/.*verb="(\w+)".*code="(\d+)"} (\d+)/, "$1 $2 $3")),
      ["GET 200 2", "GET 404 1", "WATCH 200 1"],
    );
    const name = "apiserver_request_duration_seconds";
    const buckets = await linesOf(metrics, `${name}_bucket`);
    const values = buckets.map((line) => line.replace(/.*le="([^"]+)".* (\d+)$/, "$1:$2"));
    assert.deepEqual(values.slice(0, 4), ["0.005:1", "0.025:1", "0.05:2", "0.1:2"]);
    assert.deepEqual(values.slice(-2), ["60:2", "+Inf:3"]);
    assert.match((await linesOf(metrics, `${name}_count`)).join(), / 3$/);
    assert.match((await linesOf(metrics, `${name}_sum`)).join(), / 70\.031$/);
    assert.match(await metrics.text(), /# TYPE apiserver_request_duration_seconds histogram/);
  });

  it("do not grow by what clients make up", async () => {
    const metrics = new PrometheusMetrics();
    for (let i = 0; i < 50; i++) metrics.request({ ...record, verb: `made-up-${i}` }, 1);
    const counts = await linesOf(metrics, "apiserver_request_total");
    assert.equal(counts.length, 1);
    assert.match(counts[0]!, /verb="other".* 50$/);
  });

  it("show seats, stages and stalls as they are when somebody asks", async () => {
    const metrics = new PrometheusMetrics();
    metrics.seats("readOnly", 3);
    metrics.stage("authorize", 2);
    metrics.stage("authorize", 4);
    metrics.stall(0.5);
    const text = await metrics.text();
    assert.match(text, /apiserver_current_inflight_requests{request_kind="readOnly"} 3/);
    assert.match(text, /keelson_request_stage_total{stage="authorize"} 2/);
    assert.match(text, /keelson_request_stage_seconds_total{stage="authorize"} 0.006/);
    assert.match(text, /keelson_event_loop_stalls_total 1/);
    assert.match(text, /keelson_event_loop_stall_seconds_total 0.5/);
  });
});
